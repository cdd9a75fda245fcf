internal import LockstepCore

extension StoreStatus {
    /// What a data node is for a store, and what it knows of the store's record (PROTOCOL, R-75).
    public struct DataNode: Codable, Hashable, Sendable {
        /// `primary` or `standby`.
        public var role: NodeStatus.Role
        /// How far that is: of a primary `reigning`; of a standby `seeking`, `fetching`, `streaming`, `lacking`,
        /// `campaigning` or `halted`.
        public var phase: String
        /// The number of the newest record that it knows; `nil` while it knows none, as all of a record.
        public var record: UInt64?
        /// The record's epoch.
        public var epoch: UInt64?
        /// The node that the record names as primary.
        public var primary: String?
        /// The members, by name: they have all that was acknowledged.
        ///
        /// A standby has those of when it was told last.
        public var inSync: [String]
        /// How many members must have an action before it is acknowledged.
        public var minimum: Int?
        /// Of a primary, the members that it waits for and does not hear, or whose disk does not write.
        public var missing: [String]
        /// The end of the log on this node, with what is not committed.
        public var end: UInt64

        init(role: NodeStatus.Role, phase: String, record: ConfigurationRecord?, end: SequenceNumber) {
            (self.role, self.phase, self.end) = (role, phase, end.rawValue)
            self.record = record?.number
            epoch = record?.epoch.rawValue
            primary = record?.primary.member.node.name
            inSync = record?.inSync.map(\.node.name) ?? []
            minimum = record?.minimum
            missing = []
        }

        /// Every field: what is not known is `null`.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(role, forKey: .role)
            try container.encode(phase, forKey: .phase)
            try container.encode(record, forKey: .record)
            try container.encode(epoch, forKey: .epoch)
            try container.encode(primary, forKey: .primary)
            try container.encode(inSync, forKey: .inSync)
            try container.encode(minimum, forKey: .minimum)
            try container.encode(missing, forKey: .missing)
            try container.encode(end, forKey: .end)
        }
    }
}

extension NodeStatus {
    /// What the node is for one of its stores.
    public func role(in store: StoreStatus) -> Role { store.dataNode?.role ?? role }
}

extension StandbyDriver {
    var dataNode: StoreStatus.DataNode {
        StoreStatus.DataNode(
            role: .standby, phase: phaseInStatus, record: machine.followed?.record, end: machine.log.end.sequence)
    }

    private var phaseInStatus: String {
        switch machine.phase {
        case .halted: "halted"
        case .won: "campaigning"
        case .seeking, .settling, .fetching, .streaming, .lacking:
            machine.election.attempt != nil ? "campaigning" : phaseOfStream
        }
    }

    private var phaseOfStream: String {
        switch machine.phase {
        case .settling, .fetching: "fetching"
        case .streaming: "streaming"
        case .lacking: "lacking"
        case .seeking, .won, .halted: "seeking"
        }
    }

    /// Nothing of a primary is shown any more.
    func observeMembers(_ metrics: NodeMetrics) {
        host.clear(.insufficientMembers)
        metrics.observe(isPrimary: false, members: 0, minimum: 0, missing: 0)
    }
}

extension PrimaryDriver {
    /// Nil without standbys.
    var dataNode: StoreStatus.DataNode? {
        guard let replication = machine.replication else { return nil }
        var found = StoreStatus.DataNode(
            role: .primary, phase: "reigning", record: replication.inSync.confirmed.record,
            end: machine.log.position.sequence)
        found.missing = replication.blocking(head: machine.log.position.sequence, now: MonotonicClock.now).map(
            \.node.name)
        return found
    }

    /// Who is in sync, and the alarm that nothing commits since members are missing: after 3 s, since nodes that start
    /// together come one after the other, and who is silent leaves the set before that, if it may.
    func observeMembers(_ metrics: NodeMetrics, now: Tick) {
        guard let found = dataNode, let minimum = found.minimum else { return }
        metrics.observe(
            isPrimary: true, members: found.inSync.count, minimum: minimum, missing: found.missing.count)
        let heard = found.inSync.filter { !found.missing.contains($0) }.count
        guard heard < minimum || !found.missing.isEmpty else {
            lastEnoughMembers = now
            return host.clear(.insufficientMembers)
        }
        guard now - lastEnoughMembers >= Tick.milliseconds(3_000) else { return }
        host.raise(.insufficientMembers, Self.shortage(found, heard: heard, minimum: minimum))
    }

    private static func shortage(_ found: StoreStatus.DataNode, heard: Int, minimum: Int) -> String {
        let names = found.missing.joined(separator: ", ")
        guard heard < minimum else {
            return
                "\(names) cannot leave the set yet: nothing is acknowledged until it has left, or is back; does the "
                + "arbiter answer, and is another data node heard?"
        }
        return
            "\(heard) of at least \(minimum) members are heard\(names.isEmpty ? "" : ", missing \(names)"): nothing is "
            + "acknowledged until there are more; start data nodes"
    }
}

extension StoreHost {
    /// The arbiter has no record: nobody can become the primary.
    func recordIsMissing() {
        raise(
            .recordMissing,
            "the arbiter has no record of the store: if the store is new, make it with \"cluster create\", and if etcd "
                + "has lost it, with \"cluster rebind\"")
    }

    /// The arbiter shows less than `memory`.
    func arbiterWasSetBack(_ shown: StoredRecord, _ memory: ArbiterMemory) {
        raise(
            .arbiterSetBack,
            "the arbiter shows record \(shown.record.number) of epoch \(shown.record.epoch), and \(memory.number) of "
                + "\(memory.epoch) was known: it is an older copy; nothing that it says is believed")
    }
}

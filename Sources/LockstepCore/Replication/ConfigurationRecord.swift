/// One life of a data node's journal, which is what an in-sync set counts (PROTOCOL, R-75).
///
/// A node whose disk was lost comes back under its name with another incarnation, and is then not the member that
/// acknowledged.
package struct Member: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let node: NodeID
    package let incarnation: Incarnation

    package init(node: NodeID, incarnation: Incarnation) {
        self.node = node
        self.incarnation = incarnation
    }

    /// `node/incarnation`.
    package var description: String { "\(node)/\(incarnation)" }
    package static func < (left: Member, right: Member) -> Bool {
        (left.node, left.incarnation) < (right.node, right.incarnation)
    }
}

/// Names one transaction that writes a record, so that who reads the record knows whose it is; fresh for each.
package struct AttemptID: Identifier128 {
    package let rawValue: UInt128
    package init(rawValue: UInt128) { self.rawValue = rawValue }
}

/// Who is the primary of a store, in which epoch, and which members have everything that is committed (PROTOCOL, R-75).
///
/// The arbiter keeps one for each store. It is written by compare and set only, and ``number`` grows by one each time:
/// an arbiter that was restored may show an old revision again, but no record twice.
///
/// Invariants, checked by ``problem``: the primary is in the set, the set is not empty, and has at most
/// ``Limits/inSyncMembers``.
package struct ConfigurationRecord: Hashable, Sendable {
    /// The primary in one life of its process.
    package struct Primary: Hashable, Sendable {
        package var member: Member
        package var boot: BootID
        /// Where others reach it, as each node is told.
        package var endpoints: [String]

        package init(member: Member, boot: BootID, endpoints: [String]) {
            self.member = member
            self.boot = boot
            self.endpoints = endpoints
        }
    }

    package let cluster: ClusterID
    package let store: StoreID
    package let channel: Channel
    /// From 1, one more with each writing; its upper bits are ``bindings``.
    package var number: UInt64
    package var epoch: Epoch
    package var primary: Primary
    /// The end of the primary's log when it asked for ``epoch``; it has everything that was committed before.
    package var openedAfter: Position
    /// Sorted, each once.
    package private(set) var inSync: [Member]
    /// How many members the confirmed set must have before anything commits; at least 1.
    package var minimum: Int
    /// Whether an operator named the primary though what was committed may be lost; the next failover clears it.
    package var isUnclean: Bool
    package var attempt: AttemptID

    /// The first record of a store: its only member is the primary.
    package init(
        cluster: ClusterID, store: StoreID, channel: Channel, epoch: Epoch, primary: Primary, openedAfter: Position,
        minimum: Int, attempt: AttemptID
    ) {
        (self.cluster, self.store, self.channel) = (cluster, store, channel)
        (number, self.epoch, self.primary, self.openedAfter) = (1, epoch, primary, openedAfter)
        (inSync, self.minimum, isUnclean, self.attempt) = ([primary.member], minimum, false, attempt)
    }

    package func contains(_ member: Member) -> Bool { inSync.contains(member) }

    /// The place of a member among those that may take over, from 0; after all of them for who is none.
    ///
    /// Ordered by a hash of store and node, so that the posts of many stores spread over the nodes. Cost: a SHA-256 a
    /// member.
    package func rank(of member: Member) -> Int {
        let candidates = inSync.filter { $0 != primary.member }.sorted { (hash($0), $0) < (hash($1), $1) }
        return candidates.firstIndex(of: member) ?? candidates.count
    }

    private func hash(_ member: Member) -> UInt128 {
        var writer = ByteWriter(capacity: 96)
        writer.write128(store.rawValue)
        writer.writeString(member.node.name)
        return sha256Prefix(writer.bytes)
    }

    // MARK: - What may be written next

    /// The same primary with one member more.
    package func adding(_ member: Member, attempt: AttemptID) -> ConfigurationRecord {
        successor(attempt) { $0.inSync = (inSync.filter { $0 != member } + [member]).sorted() }
    }

    /// The same primary with one member less, which is not the primary; an operator may give another minimum with it.
    package func removing(_ member: Member, minimum: Int? = nil, attempt: AttemptID) -> ConfigurationRecord {
        precondition(member != primary.member, "a primary leaves the set by a handover")
        return successor(attempt) {
            $0.inSync.removeAll { $0 == member }
            $0.minimum = minimum ?? self.minimum
        }
    }

    /// The same once more: it settles what an earlier attempt left unknown.
    package func rewritten(attempt: AttemptID) -> ConfigurationRecord { successor(attempt) { _ in } }

    /// The record by which `candidate`, a member of the set, becomes primary; nil if it is none, or no number is left.
    ///
    /// The old primary leaves the set if `minimum` members stay. Otherwise it stays, and nothing commits before it has
    /// followed. A candidate that is the old primary itself, in a later life of its process, stays. That something may be
    /// lost stays noted until somebody follows a primary of the epoch that an operator gave.
    ///
    /// `candidate` is the node itself, in this life of its process. `highest` is the highest epoch that it knows of:
    /// promised, in its journal, or told by a node that it reached. `end` is the end of its log, which does not grow
    /// until the attempt is settled. `keepingPrimary` says that the old primary gives its post to the candidate, and goes
    /// on as a standby: then it stays.
    package func campaign(
        _ candidate: Primary, above highest: Epoch, after end: Position, attempt: AttemptID,
        keepingPrimary: Bool = false
    ) -> ConfigurationRecord? {
        guard contains(candidate.member), let next = epoch(above: highest) else { return nil }
        return successor(attempt) {
            $0.epoch = next
            $0.openedAfter = end
            // Whom an operator has named campaigns for an epoch of its own, and its log has none of the operator's.
            $0.isUnclean = isUnclean && end.epoch < epoch
            if primary.member != candidate.member, !keepingPrimary {
                let rest = inSync.filter { $0 != primary.member }
                if rest.count >= minimum { $0.inSync = rest }
            }
            $0.primary = candidate
        }
    }

    // MARK: - What an operator may write

    /// How often an operator has bound the store to an arbiter that was set back or lost (PROTOCOL, R-81).
    package var bindings: UInt64 { Self.bindings(of: number) }

    /// The same of a record's number: its bits from 2^40 on, to which no series of changes comes.
    package static func bindings(of number: UInt64) -> UInt64 { number >> bindingShift }
    private static let bindingShift: UInt64 = 40
    /// So far above all epochs that are known one is that an operator gives, since a node that is away may know a later one.
    private static let epochsOfBinding: UInt64 = 1_000

    /// The same primary and set with another minimum; the primary goes by it as soon as it has read it.
    package func requiring(_ minimum: Int, attempt: AttemptID) -> ConfigurationRecord {
        precondition((1...Limits.inSyncMembers).contains(minimum), "a minimum is 1 to \(Limits.inSyncMembers)")
        return successor(attempt) { $0.minimum = minimum }
    }

    /// The record by which an operator, who states that the set is gone, makes `candidate` the only member; nil if no number
    /// is left.
    ///
    /// The candidate is a standby that is to campaign: its boot is 0, as of no process. `highest` and `end` are as in
    /// ``campaign(_:above:after:attempt:keepingPrimary:)``.
    package func promoting(
        _ candidate: Primary, above highest: Epoch, after end: Position, minimum: Int?, attempt: AttemptID
    ) -> ConfigurationRecord? {
        guard let next = epoch(above: highest) else { return nil }
        return successor(attempt) {
            (($0.epoch, $0.primary, $0.openedAfter), $0.inSync) = ((next, candidate, end), [candidate.member])
            ($0.isUnclean, $0.minimum) = (true, minimum ?? self.minimum)
        }
    }

    /// The record by which an operator says that the arbiter holds again, though it shows less than it did.
    ///
    /// It is above every number and epoch that any node knows; nil if no number is left. The candidate is the node whose
    /// log goes furthest, and as in ``promoting(_:above:after:minimum:attempt:)``.
    package func rebinding(
        _ candidate: Primary, aboveNumber known: UInt64, above highest: Epoch, after end: Position, minimum: Int?,
        attempt: AttemptID
    ) -> ConfigurationRecord? {
        let bound = Self.bindings(of: max(known, number)) + 1
        let epoch = max(highest, epoch).rawValue
        guard bound <= Self.largest >> Self.bindingShift, epoch < Self.largest - Self.epochsOfBinding else {
            return nil
        }
        var record = ConfigurationRecord(
            cluster: cluster, store: store, channel: channel,
            epoch: Epoch(rawValue: epoch + Self.epochsOfBinding), primary: candidate, openedAfter: end,
            minimum: minimum ?? self.minimum, attempt: attempt)
        record.number = bound << Self.bindingShift
        return record
    }

    /// Numbers of epochs and records end where a record of them could not be read any more.
    private static let largest = UInt64(Int64.max) - 1

    /// The next epoch above the record's and `highest`; nil if there is none.
    private func epoch(above highest: Epoch) -> Epoch? {
        let last = max(epoch, highest).rawValue
        guard last < Self.largest, number < Self.largest else { return nil }
        return Epoch(rawValue: last + 1)
    }

    private func successor(
        _ attempt: AttemptID, _ change: (inout ConfigurationRecord) -> Void
    ) -> ConfigurationRecord {
        var record = self
        record.number += 1
        record.attempt = attempt
        change(&record)
        return record
    }

    // MARK: - Checks

    /// What no record may be, in words; nil if nothing is wrong.
    package var problem: String? {
        if number == 0 { return "a record's number is at least 1" }
        if !inSync.contains(primary.member) { return "the primary is not in the set" }
        if minimum < 1 || minimum > Limits.inSyncMembers { return "the minimum is 1 to \(Limits.inSyncMembers)" }
        if inSync.count > Limits.inSyncMembers { return "the set has more than \(Limits.inSyncMembers) members" }
        if zip(inSync, inSync.dropFirst()).contains(where: { $0 >= $1 }) { return "the set is not sorted" }
        return nil
    }

    // MARK: - Bytes

    /// What the arbiter keeps; the same record has the same bytes, so that bytes can be compared and set.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 256)
        writer.write(Self.version)
        writer.write128(cluster.rawValue)
        writer.write128(store.rawValue)
        writer.write(channel.rawValue)
        writer.write(number)
        writer.write(epoch.rawValue)
        writer.writeMember(primary.member)
        writer.write128(primary.boot.rawValue)
        writer.writeVarint(UInt64(primary.endpoints.count))
        for endpoint in primary.endpoints { writer.writeString(endpoint) }
        writer.writePosition(openedAfter)
        writer.writeVarint(UInt64(inSync.count))
        for member in inSync { writer.writeMember(member) }
        writer.writeVarint(UInt64(minimum))
        writer.writeBool(isUnclean)
        writer.write128(attempt.rawValue)
        let sum = withBytes(of: writer.bytes) { Self.checksum($0, count: $0.byteCount) }
        writer.write(sum)
        return writer.bytes
    }

    /// The form of ``bytes``; a later one is refused, so that no old node writes over what it does not know.
    package static let version: UInt8 = 1

    private static func checksum(_ bytes: RawSpan, count: Int) -> UInt32 {
        var sum = CRC32C()
        sum.update(bytes, 0..<count)
        return sum.value
    }

    /// Reads ``bytes``; anything else, also a record with a ``problem``, throws.
    package init(from bytes: RawSpan) throws(WireError) {
        guard bytes.byteCount > 4 else { throw WireError(.truncated, at: bytes.byteCount) }
        var sum = ByteReader(offset: bytes.byteCount - 4, end: bytes.byteCount)
        guard try sum.read(UInt32.self, from: bytes) == Self.checksum(bytes, count: bytes.byteCount - 4) else {
            throw WireError(.wrongChecksum, at: bytes.byteCount - 4)
        }
        var reader = ByteReader(offset: 0, end: bytes.byteCount - 4)
        guard try reader.read(UInt8.self, from: bytes) == Self.version else { throw WireError(.wrongVersion, at: 0) }
        cluster = ClusterID(rawValue: try reader.read128(from: bytes))
        store = StoreID(rawValue: try reader.read128(from: bytes))
        channel = Channel(rawValue: try reader.read(from: bytes))
        number = try reader.read(from: bytes)
        epoch = Epoch(rawValue: try reader.read(from: bytes))
        let member = try reader.readMember(from: bytes)
        let boot = BootID(rawValue: try reader.read128(from: bytes))
        let endpoints = try reader.readList(from: bytes, smallestItem: 1) { (reader) throws(WireError) in
            try reader.readText(from: bytes)
        }
        primary = Primary(member: member, boot: boot, endpoints: endpoints)
        openedAfter = try reader.readPosition(from: bytes)
        inSync = try reader.readList(from: bytes, smallestItem: 18) { (reader) throws(WireError) in
            try reader.readMember(from: bytes)
        }
        let start = reader.offset
        guard let minimum = Int(exactly: try reader.readVarint(from: bytes)) else {
            throw WireError(.outOfRange, at: start)
        }
        self.minimum = minimum
        isUnclean = try reader.readBool(from: bytes)
        attempt = AttemptID(rawValue: try reader.read128(from: bytes))
        try reader.finish()
        guard problem == nil, epoch.rawValue <= Self.largest, number <= Self.largest else {
            throw WireError(.outOfRange, at: start)
        }
    }
}

extension ByteWriter {
    mutating func writeMember(_ member: Member) {
        writeString(member.node.name)
        write128(member.incarnation.rawValue)
    }
}

extension ByteReader {
    mutating func readMember(from bytes: RawSpan) throws(WireError) -> Member {
        let start = offset
        guard let node = NodeID(try readName(from: bytes)) else { throw WireError(.invalidText, at: start) }
        return Member(node: node, incarnation: Incarnation(rawValue: try read128(from: bytes)))
    }
}

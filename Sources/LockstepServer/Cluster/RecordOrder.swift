package import LockstepCore
package import LockstepNode

/// What an operator may write into a store's record, and what is refused; without asking anybody.
///
/// Each throws ``CommandFailure`` with one line that says what to do instead.
package struct RecordOrder {
    package let store: String
    /// Who is there, as far as the arbiter knows.
    package let listed: [NodeAddress]
    package let attempt: AttemptID

    package init(store: String, listed: [NodeAddress], attempt: AttemptID) {
        (self.store, self.listed, self.attempt) = (store, listed, attempt)
    }

    /// Whether the process of a member is there; one that came back without its disk is another member.
    private func isThere(_ member: Member, of store: StoreID) -> Bool {
        listed.contains { address in
            address.node == member.node
                && !address.journals.contains { $0.store == store && $0.incarnation != member.incarnation }
        }
    }

    /// Throws if the arbiter shows less than the nodes remember: a change of that would hide it (R-75).
    package func checkHolds(_ stored: StoredRecord, _ post: StorePost) throws {
        guard isSetBack(stored, post) else { return }
        throw CommandFailure(
            "etcd shows less of \(store) than the nodes remember, so it was restored from an old copy, and nothing was "
                + "changed: run \"cluster rebind\" first")
    }

    // MARK: - Minimum

    /// The record with another minimum (R-75); nil if it has that already.
    ///
    /// A higher one needs as many members that are there: nothing would be acknowledged otherwise. A lower one is always
    /// taken.
    package func requirement(of minimum: Int, in record: ConfigurationRecord) throws -> ConfigurationRecord? {
        guard minimum != record.minimum else { return nil }
        let present = record.inSync.filter { isThere($0, of: record.store) }.map(\.node)
        guard minimum < record.minimum || present.count >= minimum else {
            throw CommandFailure(
                "\(store) has \(present.count) of \(minimum) members (\(present.isEmpty ? "none is there" : names(present))), "
                    + "and would acknowledge nothing: start another data node, and wait for it with \"cluster status --wait "
                    + "30\"")
        }
        return record.requiring(minimum, attempt: attempt)
    }

    // MARK: - Remove

    /// The record without `node`, which is gone for good (R-76); `minimum` takes the place of the record's, if it is given.
    package func removal(
        of node: NodeID, from record: ConfigurationRecord, minimum: Int?
    ) throws -> ConfigurationRecord {
        guard let member = record.inSync.first(where: { $0.node == node }) else {
            throw CommandFailure(
                "\(node) is not in the set of \(store), which is "
                    + record.inSync.map(\.node.name).joined(separator: ", "))
        }
        guard !isThere(member, of: record.store) else {
            throw CommandFailure(
                "\(node) is there (etcd lists it): only who is gone for good is removed; stop it, and wait 10 s")
        }
        guard record.primary.member != member else {
            throw CommandFailure(
                "\(node) is the primary of \(store) in the record: wait until another member has taken its place, or, if "
                    + "none can, make one the primary with \"cluster promote\"")
        }
        let rest = record.inSync.count - 1
        let least = minimum ?? record.minimum
        guard rest >= least else {
            throw CommandFailure(
                "without \(node) \(store) has \(rest) of \(least) members, and acknowledges nothing: add another node "
                    + "first, or give the minimum with --minimum \(rest)")
        }
        return record.removing(member, minimum: minimum, attempt: attempt)
    }

    // MARK: - Promote

    /// The record with the node of `post` as the only member, since the set is gone (R-75).
    package func promotion(
        of post: StorePost, in record: ConfigurationRecord, minimum: Int?
    ) throws -> ConfigurationRecord {
        let alive = record.inSync.filter { $0.node.name != post.node && isThere($0, of: record.store) }.map(\.node)
        guard alive.isEmpty else {
            throw CommandFailure(
                "\(names(alive)) of the set of \(store) \(alive.count == 1 ? "is" : "are") there (etcd lists them): a "
                    + "member takes over by itself, without loss; if it is gone for good, wait 10 s after its end")
        }
        guard !post.isPrimary else {
            throw CommandFailure("\(post.node) is the primary of \(store) already: nothing was changed")
        }
        guard let end = post.position,
            let next = record.promoting(
                try candidate(post), above: Epoch(rawValue: post.epoch), after: end, minimum: minimum, attempt: attempt)
        else { throw noNumber }
        return next
    }

    // MARK: - Rebind

    /// Whether the arbiter shows less than the nodes that were asked remember, or another reign of the same epoch.
    package func isSetBack(_ stored: StoredRecord?, _ post: StorePost) -> Bool {
        guard let stored else { return true }
        return ([post.shown] + post.reports.map(\.shown)).contains { $0.memory.isBeyond(stored) }
    }

    /// The record that binds the store to an arbiter that was set back or lost (R-81), with the node of `post` as the only
    /// member; nobody may have more of the log, nor get more meanwhile.
    ///
    /// Members that do not answer may have more. So each is to be started, or named in `gone`.
    package func rebinding(
        of post: StorePost, in record: ConfigurationRecord?, cluster: ClusterID, minimum: Int?,
        without gone: [String] = []
    ) throws -> ConfigurationRecord {
        try checkAllAnswered(post, in: record, without: gone)
        try checkCommitted(post)
        let beaten = try beatenRivals(of: post, in: record)
        let further = post.further.filter { !beaten.contains($0) }
        guard further.isEmpty else {
            throw CommandFailure(
                "\(further.joined(separator: ", ")) has more of \(store) than \(post.node): run this on that host")
        }
        try checkNobodyElseLeads(post, beaten: beaten, in: record)
        let candidate = try candidate(post)
        guard let end = post.position else { throw noNumber }
        // An old record may have a lower one than was wanted since.
        let minimums = [record?.minimum, post.minimum].compactMap(\.self) + post.reports.compactMap(\.minimum)
        guard let least = minimum ?? minimums.max() else {
            throw CommandFailure(
                "nobody knows any more who the members of \(store) were, nor how many must have what is acknowledged: when "
                    + "all data nodes are listed (now \(names(listed.map(\.node)))), say it with --minimum N",
                status: .usage)
        }
        let base =
            record
            ?? ConfigurationRecord(
                cluster: cluster, store: StoreID(cluster: cluster, name: store),
                channel: Channel(rawValue: post.channel), epoch: end.epoch, primary: candidate, openedAfter: end,
                minimum: least, attempt: attempt)
        let next = base.rebinding(
            candidate, aboveNumber: post.number, above: Epoch(rawValue: post.epoch), after: end, minimum: least,
            attempt: attempt)
        guard let next else { throw noNumber }
        return next
    }

    /// Who is listed, or is a member of a record that somebody knows, has told how much it has.
    private func checkAllAnswered(_ post: StorePost, in record: ConfigurationRecord?, without gone: [String]) throws {
        let answered = Set([post.node] + post.reports.map(\.node))
        let silent = listed.map(\.node.name).filter { !answered.contains($0) }
        guard silent.isEmpty else {
            throw CommandFailure(
                "\(silent.joined(separator: ", ")) is listed and does not say how much it has of \(store): try again, or "
                    + "stop it")
        }
        guard listed.contains(where: { $0.node.name == post.node }) else {
            throw CommandFailure("\(post.node) is not listed in etcd yet, and others may not be either: try again")
        }
        let missing = absent(post, in: record).subtracting(gone).sorted()
        guard missing.isEmpty else {
            throw CommandFailure(
                "\(missing.joined(separator: ", ")) may have more of \(store), and is not listed in etcd with the disk that it "
                    + "had: start it, or restart it if it goes by another etcd; if that disk is gone for good, say "
                    + missing.map { "--without \($0)" }.joined(separator: " "))
        }
    }

    /// The members of every record that is known which have not told how much they have.
    private func absent(_ post: StorePost, in record: ConfigurationRecord?) -> Set<String> {
        let answered = [post.node] + post.reports.map(\.node)
        var absent = Set(post.members + post.reports.flatMap(\.members)).subtracting(answered)
        guard let record else { return absent }
        for member in record.inSync {
            let isAnew = listed.contains { $0.node == member.node } && !isThere(member, of: record.store)
            if isAnew || !answered.contains(member.node.name) { absent.insert(member.node.name) }
        }
        return absent
    }

    /// What another node knows to be committed is in the log of the node of `post`.
    private func checkCommitted(_ post: StorePost) throws {
        let ahead = post.reports.filter(\.knowsMore)
        guard let first = ahead.first else { return }
        if let whole = ahead.first(where: { !$0.lacksCommitted }) {
            throw CommandFailure(
                "\(whole.node) has what was acknowledged in \(store) and \(post.node) lacks: run this on that host")
        }
        let names = ahead.map(\.node).joined(separator: ", ")
        throw CommandFailure(
            "\(names) and \(post.node) each have what counts as acknowledged in \(store) and the other lacks, since etcd was "
                + "set back between: stop one side, as \(first.node), wait 10 s, run the same command with --without "
                + "\(first.node), and make that node's folder anew")
    }

    /// The nodes that had the node's epoch, too, and in it cannot have acknowledged anything (R-81).
    ///
    /// Throws if they can have.
    private func beatenRivals(of post: StorePost, in record: ConfigurationRecord?) throws -> [String] {
        // Who lacks what was committed is beaten already.
        let rivals = post.rivals.filter { !$0.lacksCommitted }
        guard !rivals.isEmpty else { return [] }
        let names = rivals.map(\.node).joined(separator: ", ")
        if record != nil {
            let absent = absent(post, in: record).count
            let isBeaten = rivals.allSatisfy { !post.mayHaveAcknowledged($0.shown.boot, absent: absent) }
            if isBeaten { return rivals.map(\.node) }
            guard post.mayHaveAcknowledged(post.shown.boot, absent: absent) else {
                throw CommandFailure(
                    "\(names) had epoch \(post.shown.epoch) of \(store) as \(post.node) did, and only there something can "
                        + "have been acknowledged in it: run this on that host")
            }
        }
        throw CommandFailure(
            "\(names) and \(post.node) each had epoch \(post.shown.epoch) of \(store), since etcd gave it away twice: stop "
                + "those whose epoch was the second (\"cluster status\" says who leads now), wait 10 s, and run the same "
                + "command on a host of the first, with --without for each that was stopped")
    }

    /// Whoever leads may acknowledge at any time what the node of `post` lacks; so may who does not know yet that it won.
    ///
    /// A reign that has acknowledged nothing gets nobody who knows of the other one.
    private func checkNobodyElseLeads(
        _ post: StorePost, beaten: [String], in record: ConfigurationRecord?
    ) throws {
        let isBeatenForGood = post.reports.allSatisfy { beaten.contains($0.node) || post.knowsSameReign($0) }
        let leader = post.reports.first { report in
            if isBeatenForGood, beaten.contains(report.node) { return false }
            if report.leads { return true }
            guard let record, record.primary.member.node.name == report.node else { return false }
            return report.number < record.number && max(report.epoch, report.shown.epoch) <= record.epoch.rawValue
        }
        guard let leader else { return }
        // Its own log may have grown since the leader told of its, and so may what it knows to be committed.
        let follows = post.primary == leader.node && post.knowsSameReign(leader)
        let isLikeIt = follows || (post.endsLike(leader) && !leader.lacksCommitted)
        let isPlace = !post.isPrimary && !beaten.contains(leader.node) && isLikeIt
        throw CommandFailure(
            "\(leader.node) leads \(store), and may acknowledge more at any time: "
                + (isPlace ? "run this on that host" : "restart that node, and run this again"))
    }

    // MARK: - Who is meant

    /// The node of `post`, as a record names who is yet to campaign.
    private func candidate(_ post: StorePost) throws -> ConfigurationRecord.Primary {
        guard !post.cannotLead else {
            throw CommandFailure(
                "\(post.node) waits for a snapshot of \(store), and cannot lead before it has it: restart the node, which then "
                    + "goes on with what it has, and run this again")
        }
        guard post.isWritten else {
            throw CommandFailure(
                "the disk of \(post.node) has not written all that the node has of \(store): try again, or look at "
                    + "that disk")
        }
        guard let node = NodeID(post.node), let incarnation = Incarnation(hexadecimal: post.incarnation) else {
            throw CommandFailure("the node's answer cannot be read: is it of another version?")
        }
        return ConfigurationRecord.Primary(
            member: Member(node: node, incarnation: incarnation), boot: .none, endpoints: [post.endpoint])
    }

    private var noNumber: CommandFailure {
        CommandFailure("there is no number left for a record of \(store), or the node's answer cannot be read")
    }

    private func names(_ nodes: [NodeID]) -> String { nodes.map(\.name).joined(separator: ", ") }
}

// MARK: - After an unknown outcome

extension ConfigurationRecord {
    /// Whether this may be what nodes have made of `first` since, so that it was written: its primary has the post still,
    /// and the minimum is the same (R-76).
    package func goesOn(from first: ConfigurationRecord) -> Bool {
        primary.member == first.primary.member && minimum == first.minimum && epoch >= first.epoch
            && number > first.number
    }
}

extension RecordAttempt {
    /// Whether a later record has what this one wanted, with nobody in its set who was to leave.
    package func isFulfilled(by stored: StoredRecord) -> Bool {
        let leaving = Set(compared.record.inSync).subtracting(proposed.inSync)
        return stored.record.goesOn(from: proposed) && leaving.isDisjoint(with: stored.record.inSync)
    }
}

package import LockstepCore
package import LockstepNode

/// What etcd says of a store, beside who is listed there.
package struct StorePicture: Encodable, Sendable {
    /// A node that is a member, or could become one.
    package struct Standing: Encodable, Hashable, Sendable {
        package var node: String
        package var incarnation: String
    }

    /// What a node has etcd say of the store, or why it has halted.
    package struct Trouble: Encodable, Hashable, Sendable {
        package var node: String
        package var isHalted: Bool
        package var text: String
    }

    let store: String
    /// The record's number; everything of a record is null without one.
    let number: UInt64?
    let epoch: UInt64?
    let primary: String?
    let primaryEndpoints: [String]?
    let inSync: [Standing]
    let minimum: Int?
    let isUnclean: Bool?
    /// Who is listed with a journal of the store and is no member: it follows, and is not waited for.
    let learners: [Standing]
    /// Who is a member and is not listed: its process does not run, or does not reach etcd.
    let unlisted: [Standing]
    /// Whether the process that the record names is listed, and has not halted.
    let isPrimaryListed: Bool
    /// The alarms of nodes with a journal of the store, and the nodes that have halted.
    let troubles: [Trouble]

    package init(store: String, id: StoreID, record: ConfigurationRecord?, nodes: [NodeAddress]) {
        self.store = store
        let listed = nodes.filter { $0.halt == nil }.flatMap { node in
            node.journals.filter { $0.store == id }.map { Member(node: node.node, incarnation: $0.incarnation) }
        }
        let members = record?.inSync ?? []
        number = record?.number
        epoch = record?.epoch.rawValue
        primary = record?.primary.member.node.name
        primaryEndpoints = record?.primary.endpoints
        inSync = members.map(Standing.init)
        minimum = record?.minimum
        isUnclean = record?.isUnclean
        learners = listed.filter { !members.contains($0) }.sorted().map(Standing.init)
        unlisted = members.filter { !listed.contains($0) }.map(Standing.init)
        isPrimaryListed = nodes.contains {
            $0.node == record?.primary.member.node && $0.boot == record?.primary.boot && $0.halt == nil
        }
        troubles = nodes.filter { node in node.journals.contains { $0.store == id } }.flatMap { node in
            node.troubles.filter { $0.store == id || $0.store == nil }.map {
                Trouble(node: node.node.name, isHalted: $0.store == nil, text: $0.text)
            }
        }
    }

    /// Every field, so that whoever reads it need not guess what is missing: what is not known is `null`.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(number, forKey: .number)
        try container.encode(epoch, forKey: .epoch)
        try container.encode(primary, forKey: .primary)
        try container.encode(primaryEndpoints, forKey: .primaryEndpoints)
        try container.encode(inSync, forKey: .inSync)
        try container.encode(minimum, forKey: .minimum)
        try container.encode(isUnclean, forKey: .isUnclean)
        try container.encode(learners, forKey: .learners)
        try container.encode(unlisted, forKey: .unlisted)
        try container.encode(isPrimaryListed, forKey: .isPrimaryListed)
        try container.encode(troubles, forKey: .troubles)
    }

    private enum CodingKeys: String, CodingKey {
        case store, number, epoch, primary, primaryEndpoints, inSync, minimum, isUnclean, learners, unlisted,
            isPrimaryListed, troubles
    }

    /// What keeps an operator from leaving the store alone; nil if nothing.
    package var unreadiness: String? {
        guard let primary, let minimum else { return "\(store) has no record" }
        if let halted = troubles.first(where: \.isHalted) { return "\(halted.node) has halted: \(halted.text)" }
        if !isPrimaryListed { return "the primary of \(store), \(primary), does not run, or has not begun" }
        if inSync.count < minimum { return "\(store) has \(inSync.count) of \(minimum) members" }
        if let learner = learners.first { return "\(learner.node) is no member of \(store) yet" }
        if let member = unlisted.first { return "\(member.node) is a member of \(store) and is not listed" }
        if let trouble = troubles.first { return "\(store) at \(trouble.node): \(trouble.text)" }
        return nil
    }

    package static let heads = ["STORE", "EPOCH", "PRIMARY", "MINIMUM", "RECORD", "IN-SYNC"]

    package var cells: [String] {
        guard let number, let epoch, let primary, let minimum else {
            return [store, "-", "-", "-", "-", "no record"]
        }
        return [
            store, "\(epoch)", primary, "\(minimum)", "\(number)", inSync.map(\.node).joined(separator: " "),
        ]
    }

    /// What stands below the row.
    package var notes: [String] {
        let said = troubles.map { "! node \($0.node)\($0.isHalted ? " has halted" : ""): \($0.text)" }
        guard let primary, let minimum else {
            return ["! make it with \"cluster create\", if it never had one"] + said
        }
        var notes: [String] = []
        if isUnclean == true { notes.append("! an operator named the primary: what was acknowledged may be lost") }
        if !isPrimaryListed { notes.append("! primary \(primary): not listed, or not begun yet") }
        if inSync.count < minimum {
            notes.append("! \(inSync.count) of \(minimum) members: nothing is acknowledged until there are more")
        }
        notes += said
        let halted = troubles.filter(\.isHalted).map(\.node)
        notes += unlisted.filter { !halted.contains($0.node) }.map { "! member \($0.node): not listed" }
        notes += learners.map { "node \($0.node): listed, no member yet" }
        return notes
    }
}

extension StorePicture.Standing {
    init(_ member: Member) { self.init(node: member.node.name, incarnation: "\(member.incarnation)") }
}

#if Etcd
    extension ClusterPlace.Opened {
        /// What etcd says of stores, and who is listed; each question has a second at least, and ends at `end` else.
        @concurrent func pictures(
            of stores: [String], until end: ContinuousClock.Instant? = nil
        ) async throws -> (stores: [StorePicture], nodes: [NodeAddress]) {
            func patience() -> Duration {
                guard let end else { return ClusterPlace.patience }
                return min(ClusterPlace.patience, max(.seconds(1), ContinuousClock.now.duration(to: end)))
            }
            let nodes = try await ask { try await $0.nodes(within: patience()) }
            var pictures: [StorePicture] = []
            for store in stores {
                let record = try await ask { try await $0.record(of: store, within: patience()) }?.record
                let id = StoreID(cluster: cluster, name: store)
                pictures.append(StorePicture(store: store, id: id, record: record, nodes: nodes))
            }
            return (pictures, nodes)
        }
    }
#endif

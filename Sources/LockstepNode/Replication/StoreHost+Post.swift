internal import LockstepCore
internal import Logging

// What operators ask of a data node's store, and tell it (PROTOCOL, R-81, R-90).
extension Node {
    /// What this data node knows of a store's post; with `look` it begins to ask others, for the next who asks.
    package func post(of store: String, after look: PostLook? = nil) throws -> StorePost {
        try dataNode(of: store).post(after: look)
    }

    /// Gives a store's post to `target`, or to whoever has everything; ``post(of:after:)`` says how it ends.
    package func beginHandover(of store: String, to target: String?) throws -> StorePost {
        try dataNode(of: store).beginHandover(to: target)
    }

    private func dataNode(of name: String) throws -> StoreHost {
        guard services?.arbiter != nil else {
            throw LockstepError(.administration, "this node is no data node: it has its role from its folder")
        }
        guard let host = hosts.first(where: { $0.name == name }) else {
            throw LockstepError(.administration, "this node has no store named \(name)")
        }
        return host
    }
}

extension StoreHost {
    /// See ``Node/post(of:after:)``.
    func post(after look: PostLook?) throws -> StorePost {
        if let look { begin(look) }
        guard let identity = driver?.desk.journal?.identity else {
            throw LockstepError(.unavailable, "the store \(name) is not open yet: ask again")
        }
        let server = primary?.machine.replication
        let election = standby?.machine.election
        let known = server?.inSync.confirmed ?? standby?.machine.followed
        let memory = server?.memory ?? election?.memory ?? ArbiterMemory()
        let log = standby?.machine.log.summary ?? primary?.machine.replicationLog.summary ?? .empty(of: identity.store)
        let end = log.end
        let own = max(memory.epoch, end.epoch, election?.promised ?? .zero, server?.epoch ?? .zero)
        let logs = [log] + reports.values.map(\.log)
        let told = reports.sorted { $0.key < $1.key }.map { node, report in
            StorePost.Report(
                node: node.name,
                epoch: max(report.highest, report.shown.epoch, report.record?.record.epoch ?? .zero).rawValue,
                number: max(report.shown.number, report.record?.record.number ?? 0),
                shown: StorePost.Shown(report.shown), end: StorePost.text(report.log.end),
                lacksCommitted: logs.contains { report.log.lacksCommitted(of: $0) },
                knowsMore: log.lacksCommitted(of: report.log),
                leads: report.leads, minimum: report.record?.record.minimum, members: names(report.record))
        }
        return StorePost(
            store: name, node: services.node, incarnation: "\(identity.incarnation)",
            endpoint: services.ingressEndpoint, isPrimary: server != nil && primary?.isDeposed == false,
            cannotLead: standby?.machine.phase == .lacking || standby?.machine.isDoubted == true,
            isWritten: standby?.machine.log.isDurable ?? true,
            epoch: max(own.rawValue, told.map(\.epoch).max() ?? 0),
            number: max(memory.number, known?.record.number ?? 0, told.map(\.number).max() ?? 0),
            shown: StorePost.Shown(memory), end: StorePost.text(end), channel: identity.channel.rawValue,
            minimum: known?.record.minimum, members: names(known), primary: known?.record.primary.member.node.name,
            reports: told,
            handover: handover.map { note in
                StorePost.Handover(
                    isUnderWay: note.ended == nil,
                    milliseconds: ((note.ended ?? MonotonicClock.now) - note.began) / 1_000_000, problem: note.problem)
            })
    }

    private func names(_ stored: StoredRecord?) -> [String] { stored?.record.inSync.map(\.node.name) ?? [] }

    private func begin(_ look: PostLook) {
        reports = [:]
        tellsRecord = standby != nil && look == .record
        if look == .record { primary?.readRecord() }
        standby?.readRecord()
        if let server = primary?.machine.replication { askPeers(0, promised: server.epoch) }
    }

    /// Asks the other data nodes what they know, beside the arbiter.
    func askPeers(_ request: UInt64, promised: Epoch) {
        guard let identity = driver?.desk.journal?.identity else { return }
        let stamp = FrameStamp(channel: identity.channel, clusterHash: identity.cluster.hash, epoch: promised)
        let frame = stamp.frame(.replicationRequest(.recordRequest(nonce: request)))
        services.attempt { try services.peers?.sendToAll(frame) }
    }

    // MARK: - Handover

    /// Gives the post to another data node; what is returned says that it is under way.
    ///
    /// - Throws: ``LockstepError``, with a ``PassingRefusal`` where the same may be granted a moment later.
    func beginHandover(to target: String?) throws -> StorePost {
        let node = try target.map { name in
            guard let node = NodeID(name) else {
                throw LockstepError(.administration, "\(name) is no node's name")
            }
            return node
        }
        guard let primary, stop == nil else {
            let who = try post(after: nil).primary.map { "\($0) is" } ?? "no primary is known"
            throw LockstepError(.administration, "this node is not the primary of \(name): \(who)")
        }
        if let refusal = primary.giveAwayPost(to: node) {
            throw LockstepError(
                .administration, text(of: refusal, target), underlying: refusal.isPassing ? PassingRefusal() : nil)
        }
        handover = HandoverNote(began: MonotonicClock.now)
        logger.notice("gives its post away", metadata: [LogKey.peer: "\(target ?? "any member")"])
        return try post(after: nil)
    }

    private func text(of refusal: HandoverRefusal, _ target: String?) -> String {
        let why =
            switch refusal {
            case .notAdmitting: "this node admits nothing yet, or no longer; try again, or look at its status"
            case .isUnderWay: ""
            case .noSuchMember:
                target.map { "\($0) is not another member of the in-sync set" } ?? "the in-sync set has no other member"
            case .nobodyFollows: "\(target ?? "no member") does not follow now; try again, or look at its status"
            }
        return refusal == .isUnderWay
            ? "a handover of \(name) is under way already: look at its status" : "the post of \(name) stays: \(why)"
    }

    /// The post is another node's, or `why` it is not.
    func handoverEnded(because why: PostKept?) {
        guard handover?.ended == nil else { return }
        handover?.ended = MonotonicClock.now
        handover?.problem = why.map { why in
            switch why {
            case .nobodyHasEverything: "no member had the whole log in time; this node goes on"
            case .nobodyTookIt: "who was asked has not taken it in time; this node goes on"
            }
        }
    }
}

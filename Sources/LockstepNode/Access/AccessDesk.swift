package import LockstepCore
package import Logging
package import ZeroMQ

/// Who may talk to a node that has keys and listens; on the node's thread.
///
/// It has the access list, reads it again when its file changes, answers libzmq's questions about new connections, and
/// decides on frames. A text of the file that cannot be used changes nothing (PROTOCOL, R-70).
package final class AccessDesk {
    package let keys: NodeKeys
    /// What holds now.
    package private(set) var list: AccessList
    package private(set) var door: AccessDoor
    /// Why the newest text of the file is not used; nil while it is.
    package private(set) var problem: String?
    private var audit: AccessAudit
    private let watch: AccessWatch
    private var zap: ZapHandler?
    private let logger: Logger
    private var failures = LineLimit()
    /// When the file is to be looked at.
    package private(set) var nextLook = Tick.zero

    /// A change holds within a second: a look, the reading, and a turn of the node.
    private static let lookMilliseconds: Int64 = 400
    /// Questions of libzmq that one turn answers.
    private static let questionsAtOnce = 64

    /// Reads the list and makes the context's ZAP handler; `signal` wakes the node's thread, from any thread.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` if the list cannot be used, `unavailable` if the handler
    ///   cannot be made, or lets a key in that nobody has.
    package init(
        _ keys: NodeKeys, _ file: AccessFile, in context: Context, logger: Logger,
        signal: @escaping @Sendable () -> Void
    ) throws {
        self.keys = keys
        self.logger = logger
        list = try file.read()
        door = AccessDoor(list: list)
        audit = AccessAudit(logger: logger)
        watch = AccessWatch(file, signal: signal)
        do { zap = try ZapHandler(in: context) } catch {
            throw LockstepError(.unavailable, "nothing can decide who may connect: \(error)", underlying: error)
        }
        AccessMetrics.show(list, isUnusable: false)
        if list.principal(of: keys.own.publicKey) == nil {
            logger.warning(
                "this node's own key is not in its access list",
                metadata: [LogKey.key: "\(keys.own.publicKey)"])
        }
    }

    /// Has a poller wait for libzmq's questions, too.
    package func join(_ poller: Poller<LoopToken>) {
        switch zap {
        case .some(let handler): poller.add(handler, as: .access)
        case nil: break
        }
    }

    /// Lets nobody in any more.
    package func close() { zap = nil }

    // MARK: - Connections

    /// Answers libzmq's questions; returns how many there were.
    package func serve(now: Tick) throws -> Int {
        try answer { request in
            guard let denial = denial(of: request) else {
                return .accepted(userID: request.key.flatMap { list.principal(of: $0)?.name } ?? "")
            }
            let name = request.key.flatMap { list.principal(of: $0)?.name ?? $0.z85 } ?? request.mechanism
            audit.denied(denial, name: name, address: request.address, now: now)
            return .refused
        }
    }

    /// The same for the node's own test, without a word to anybody.
    func answerStranger() throws -> Int {
        try answer { denial(of: $0) == nil ? .accepted(userID: "") : .refused }
    }

    private func answer(_ decide: (ZapHandler.Request) -> ZapHandler.Verdict) throws -> Int {
        try zap?.serve(atMost: Self.questionsAtOnce, decide) ?? 0
    }

    private func denial(of request: ZapHandler.Request) -> AccessDoor.Denial? {
        guard let link = AccessLink(rawValue: request.domain), let key = request.key else {
            return AccessDoor.Denial(
                reason: .key, what: AccessDoor.connection, text: "a peer without a key of CURVE is let in nowhere")
        }
        guard let principal = list.principal(of: key) else {
            return AccessDoor.Denial(
                reason: .key, what: AccessDoor.connection,
                text: "the key \(key) is not in the access list: add it with a name and roles if its owner may connect")
        }
        return door.judge(connectionOf: principal, to: link)
    }

    /// Connections failed before anybody was asked about them: no keys, or the wrong one of this node.
    package func handshakesFailed(_ count: Int, now: Tick) {
        guard count > 0 else { return }
        AccessMetrics.handshakesFailed(count)
        guard let skipped = failures.take(now: now) else { return }
        logger.warning(
            "handshakes failed: peers without keys, or with another key than this node's",
            metadata: [LogKey.count: "\(count)", LogKey.skipped: "\(skipped)"])
    }

    // MARK: - Frames

    package func denied(_ denial: AccessDoor.Denial, _ peer: AccessPeer, now: Tick) {
        audit.denied(denial, name: peer.principal.name, address: peer.address, now: now)
    }

    /// A message came of a key that is no longer in the list, or of none.
    package func withdrawn(_ key: CurvePublicKey?, address: String, now: Tick) {
        let name = key?.z85 ?? "no key"
        let denial = AccessDoor.Denial(
            reason: .key, what: AccessDoor.connection, text: "the key \(name) is no longer in the access list")
        audit.denied(denial, name: name, address: address, now: now)
    }

    // MARK: - The file

    package var isWaiting: Bool { watch.isWaiting }

    /// Looks at the file when it is time; returns true if another list holds now.
    package func look(now: Tick) -> Bool {
        if now >= nextLook {
            nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
            watch.look()
        }
        switch watch.take() {
        case nil: return false
        case .failure(let error)?:
            let text = (error as? LockstepError)?.message ?? "\(error)"
            guard text != problem else { return false }
            problem = text
            logger.warning(
                "the access list was changed and cannot be used: the list from before stays",
                metadata: [LogKey.reason: "\(text)"])
            AccessMetrics.show(list, isUnusable: true)
            return false
        case .success(let new)?:
            if problem.take() != nil {
                logger.notice("the access list can be used again")
                AccessMetrics.show(list, isUnusable: false)
            }
            guard new != list else { return false }
            list = new
            door = AccessDoor(list: new)
            AccessMetrics.show(new, isUnusable: false)
            logger.info("the access list has changed", metadata: [LogKey.count: "\(new.entries.count)"])
            return true
        }
    }
}

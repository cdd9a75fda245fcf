package import LockstepCore
internal import Logging
package import ZeroMQ

/// Who may talk to a node that has keys and listens; on the node's thread.
///
/// It answers libzmq's questions about new connections, and decides on frames, by the list of the ``AccessBook``.
package final class AccessDesk {
    package let keys: NodeKeys
    private let book: AccessBook
    package private(set) var door: AccessDoor
    private var audit: AccessAudit
    private var zap: ZapHandler?
    private let logger: Logger
    private var failures = LineLimit()

    /// Questions of libzmq that one turn answers.
    private static let questionsAtOnce = 64

    /// Makes the context's ZAP handler.
    ///
    /// - Throws: ``LockstepError`` of code `unavailable` if it cannot be made.
    init(_ keys: NodeKeys, _ book: AccessBook, in context: Context, logger: Logger) throws {
        self.keys = keys
        self.book = book
        self.logger = logger
        door = AccessDoor(list: book.list)
        audit = AccessAudit(logger: logger)
        do { zap = try ZapHandler(in: context) } catch {
            throw LockstepError(.unavailable, "nothing can decide who may connect: \(error)", underlying: error)
        }
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

    /// What holds now.
    package var list: AccessList { book.list }

    /// Another list holds.
    func listChanged() { door = AccessDoor(list: list) }

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
}

package import Foundation
internal import LockstepCore
package import ZeroMQ

/// Answers operators on this host; on the node's thread (PROTOCOL, L7).
package final class AdministrationServer {
    private let path: AdministrationPath
    private let lock: Int32
    private var socket: Socket<Router>?
    private var message = ZeroMQ.Message()

    /// What an operator may ask.
    package enum Request: Hashable, Sendable {
        case status(withDigests: Bool)
        /// The encoded state of a store.
        case dump(store: String)
        /// A page of a store's accepted actions that have not ended: those that were accepted after a sequence number.
        case runs(store: String, after: String?)
        /// Ends one of them as failed.
        case abandon(store: String, run: String)
        /// A page of a store's sessions: those that were opened after one.
        case sessions(store: String, after: String?)
        /// Ends sessions.
        case closeSessions(store: String, SessionChoice)
        /// Who is the primary of a data node's store, and what else the node knows of that.
        case post(store: String, after: PostLook?)
        /// The primary of a store gives its post to another data node.
        case handover(store: String, to: String?)

        /// Its name on the wire.
        package var word: String {
            switch self {
            case .status: "status"
            case .dump: "dump"
            case .runs: "runs"
            case .abandon: "abandon"
            case .sessions: "sessions"
            case .closeSessions: "closeSessions"
            case .post: "post"
            case .handover: "handover"
            }
        }

        /// The store that it is about; nil if it is about the node.
        package var store: String? {
            switch self {
            case .status: nil
            case .dump(let store), .runs(let store, _), .abandon(let store, _), .sessions(let store, _),
                .closeSessions(let store, _), .post(let store, _), .handover(let store, _):
                store
            }
        }
    }

    private struct Command: Decodable {
        var command: String
        var store: String?
        var run: String?
        var after: String?
        var choice: SessionChoice?
        var digests: Bool?
        var to: String?
        var look: PostLook?
    }

    /// A state above this size is not dumped: the answer is one message.
    package static let dumpBound = 512 << 10

    /// Makes the folder if it is missing, takes its lock and listens.
    package init(folder: String, context: Context, poller: Poller<LoopToken>) throws {
        path = try AdministrationPath(folder: folder)
        try path.prepare()
        lock = try path.takeLock()
        do {
            let socket = try Endpoints.administration(context, at: path.socket)
            poller.add(socket, as: .administration)
            self.socket = consume socket
        } catch {
            Foundation.close(lock)
            throw error
        }
    }

    package func close() {
        guard socket != nil else { return }
        socket = nil
        unlink(path.socket)
        Foundation.close(lock)
    }

    /// Answers what has arrived, at most 16 requests; returns how many there were.
    package func serve(_ answer: (Request) throws -> Data) throws -> Int {
        var count = 0
        while count < 16, let routed = try socket?.receive(into: &message) {
            count += 1
            guard case .message(let peer) = routed, let request = message.withBytes(Self.request) else { continue }
            let frame = Self.frame(Self.answer(to: request, answer))
            // An operator who has gone gets no answer.
            _ = try socket?.send(frame, to: peer)
        }
        return count
    }

    /// The JSON of a request; nil for what is none, which is not answered, as everywhere.
    static func request(in frame: RawSpan) -> [UInt8]? {
        guard let decoded = try? LockstepCore.Message.decode(frame, rule: .any),
            case .request(let range)? = AdministrationMessage(decoded.message)
        else { return nil }
        return copyBytes(of: frame, range)
    }

    /// The frame of an answer.
    static func frame(_ json: Data) -> [UInt8] {
        let bytes = Array(json)
        let stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        return withBytes(of: bytes) { stamp.frame(.adminResponse(0..<bytes.count), source: $0) }
    }

    /// The answer to the JSON of a request: what `answer` says, or an object with the key `error`.
    package static func answer(to request: [UInt8], _ answer: (Request) throws -> Data) -> Data {
        do {
            let command = try JSONDecoder().decode(Command.self, from: Data(request))
            switch (command.command, command.store) {
            case ("status", _): return try answer(.status(withDigests: command.digests ?? false))
            case ("dump", let store?): return try answer(.dump(store: store))
            case ("runs", let store?): return try answer(.runs(store: store, after: command.after))
            case ("abandon", let store?):
                guard let run = command.run else {
                    throw LockstepError(.administration, "name the action that is to be abandoned")
                }
                return try answer(.abandon(store: store, run: run))
            case ("sessions", let store?): return try answer(.sessions(store: store, after: command.after))
            case ("closeSessions", let store?):
                return try answer(.closeSessions(store: store, command.choice ?? SessionChoice()))
            case ("post", let store?): return try answer(.post(store: store, after: command.look))
            case ("handover", let store?): return try answer(.handover(store: store, to: command.to))
            case ("dump", nil), ("runs", nil), ("abandon", nil), ("sessions", nil), ("closeSessions", nil),
                ("post", nil),
                ("handover", nil):
                throw LockstepError(.administration, "name the store")
            default:
                throw LockstepError(
                    .administration,
                    "there is no command \(command.command): status, dump, runs, abandon, sessions, "
                        + "closeSessions, post, handover")
            }
        } catch {
            let known = error as? LockstepError
            return problem(known?.message ?? "\(error)", isPassing: known?.underlying is PassingRefusal)
        }
    }

    static func problem(_ text: String, isPassing: Bool = false) -> Data {
        var answer = ["error": text]
        if isPassing { answer[PassingRefusal.key] = "soon" }
        // A dictionary of texts can always be encoded.
        return (try? JSONEncoder().encode(answer)) ?? Data("{\"error\":\"\"}".utf8)
    }
}

internal import FlyingSocks
internal import Foundation
internal import LockstepCore
internal import LockstepNode
internal import Synchronization

/// One connection of an HTTP address: requests, one after the other, or an event stream.
///
/// What it may cost is bounded: a head by ``RequestHead/byteBound`` and ``HTTPTimes/idle``, an answer that is not read by
/// ``HTTPTimes/reading``. The next request is read when the answer to the last was taken, so a client that sends many at
/// once waits in its own socket.
struct HTTPConnection: Sendable {
    private let socket: AsyncSocket
    private let pool: SocketQueue
    private let address: HTTPAddress
    private let routes: [String: HTTPRoute]
    private let places: ConnectionPlaces
    private let times: HTTPTimes
    private let deadline = ConnectionDeadline()

    init(
        socket: AsyncSocket, pool: SocketQueue, address: HTTPAddress, routes: [String: HTTPRoute],
        places: ConnectionPlaces, times: HTTPTimes
    ) {
        self.socket = socket
        self.pool = pool
        self.address = address
        self.routes = routes
        self.places = places
        self.times = times
    }

    /// Serves until the client or a bound ends it, and closes the socket.
    ///
    /// `isRefused`: it is one too many; it is told so and ends.
    func run(isRefused: Bool) async {
        deadline.set(times.idle, .idle)
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // An error is the connection's end, whatever it is.
                try? await self.serve(isRefused: isRefused)
            }
            group.addTask {
                if await self.deadline.passes() == .unread { self.places.refused(.slow) }
            }
            await group.next()
            group.cancelAll()
        }
        await pool.settle()
        // Closing frees the descriptor whatever it returns.
        try? socket.close()
    }

    // MARK: - Requests

    private func serve(isRefused: Bool) async throws {
        var buffer: [UInt8] = []
        while true {
            deadline.set(times.idle, .idle)
            let head: RequestHead
            do {
                guard let read = try await readHead(&buffer) else { return }
                head = read
                if isRefused {
                    places.refused(.connections)
                    throw RequestHead.Refusal(
                        status: 503,
                        reason: "this address has its \(ConnectionPlaces.Kind.connection.bound) connections: try again")
                }
                guard head.host.map(address.admits) ?? true else {
                    throw RequestHead.Refusal(
                        status: 421, reason: "this address does not answer for the host \(head.host ?? "")")
                }
            } catch let refusal as RequestHead.Refusal {
                places.refused(.request)
                return try await end(with: .text(refusal.reason + "\n", status: refusal.status))
            }
            guard try await answer(head) else { return }
        }
    }

    /// The next request; nil at the end of the connection.
    private func readHead(_ buffer: inout [UInt8]) async throws -> RequestHead? {
        // Empty lines before a request are skipped (RFC 9112, section 2.2).
        var looked = 0
        while true {
            let skipped = buffer.prefix { $0 == 0x0D || $0 == 0x0A }.count
            if skipped > 0 {
                buffer.removeFirst(skipped)
                looked = 0
            }
            if let end = RequestHead.end(of: buffer, from: looked) {
                guard end <= RequestHead.byteBound else { throw RequestHead.Refusal.tooLong }
                defer { buffer.removeFirst(end) }
                return try RequestHead(buffer[..<end])
            }
            guard buffer.count < RequestHead.byteBound else { throw RequestHead.Refusal.tooLong }
            looked = buffer.count
            do {
                let more = try await socket.read(atMost: 4_096)
                buffer += more
            } catch SocketError.disconnected {
                return nil
            }
        }
    }

    /// Answers one request; returns whether the connection goes on.
    private func answer(_ head: RequestHead) async throws -> Bool {
        guard let route = routes[head.path] else {
            let paths = routes.keys.sorted().joined(separator: ", ")
            return try await send(.text("there is no \(head.path) here; there are \(paths)\n", status: 404), to: head)
        }
        deadline.set(times.answering, .busy)
        let answer = await route.answer(HTTPQuery(parameters: head.parameters, lastEventID: head.lastEventID))
        try Task.checkCancellation()
        guard case .events(let events) = answer.body, !head.isHead else { return try await send(answer, to: head) }
        guard places.take(.eventStream) else {
            places.refused(.eventStreams)
            let count = ConnectionPlaces.Kind.eventStream.bound
            return try await send(
                .text("this address has its \(count) event streams: try again\n", status: 503), to: head)
        }
        defer { places.give(.eventStream) }
        try await stream(events, answer)
        return false
    }

    private func send(_ answer: HTTPAnswer, to head: RequestHead) async throws -> Bool {
        var (body, length): ([UInt8], Int?) = ([], nil)
        if case .bytes(let bytes) = answer.body { (body, length) = (bytes, bytes.count) }
        let isPersistent = head.isPersistent && length != nil
        let bytes = AnswerHead(
            status: answer.status, contentType: answer.contentType, length: length, isPersistent: isPersistent
        ).bytes
        try await write(head.isHead ? bytes : bytes + body)
        return isPersistent
    }

    private func write(_ bytes: [UInt8]) async throws {
        deadline.set(times.reading, .unread)
        try await socket.write(Data(bytes))
        deadline.clear()
    }

    /// Answers and ends the connection so that the client gets the answer, though it may still be sending.
    ///
    /// A socket that is closed with bytes that nobody read resets the connection, and the client may lose the answer. So
    /// what comes is read, and thrown away, for a second at most.
    private func end(with answer: HTTPAnswer) async throws {
        guard case .bytes(let body) = answer.body else { return }
        let head = AnswerHead(
            status: answer.status, contentType: answer.contentType, length: body.count, isPersistent: false)
        try await write(head.bytes + body)
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
        deadline.set(min(times.idle, .seconds(1)), .idle)
        // The client's end, or the deadline, ends it.
        while true { _ = try await socket.read(atMost: 4_096) }
    }

    // MARK: - Event streams

    private func stream(_ events: AsyncStream<String>, _ answer: HTTPAnswer) async throws {
        let head = AnswerHead(
            status: answer.status, contentType: "text/event-stream; charset=utf-8", length: nil, isPersistent: false)
        try await write(head.bytes)
        let turn = WritingTurn()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events { try await self.write(event, turn) }
            }
            group.addTask {
                while true {
                    try await Task.sleep(for: self.times.signOfLife)
                    try await self.write(": alive", turn)
                }
            }
            group.addTask {
                // A reader of events sends nothing; its end is seen here.
                while true { _ = try await self.socket.read(atMost: 4_096) }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    private func write(_ event: String, _ turn: WritingTurn) async throws {
        await turn.take()
        do { try await write(Array("\(event)\n\n".utf8)) } catch {
            await turn.give()
            throw error
        }
        await turn.give()
    }
}

/// When a connection's time is over.
final class ConnectionDeadline: Sendable {
    private let end = Mutex((tick: Tick.never, cause: Cause.idle))
    /// How often it is looked at.
    private static let step = Duration.milliseconds(250)

    /// What ends the connection.
    enum Cause: Hashable, Sendable {
        /// The client sent no request.
        case idle
        /// A route did not answer.
        case busy
        /// The client did not take what it was sent.
        case unread
    }

    /// The time from now on.
    func set(_ time: Duration, _ cause: Cause) {
        let tick = MonotonicClock.now.advanced(byMicroseconds: time.wholeMicroseconds)
        end.withLock { $0 = (tick, cause) }
    }

    /// No time from now on.
    func clear() { end.withLock { $0.tick = .never } }

    /// Returns why the time is over, or nil when the task was cancelled.
    func passes() async -> Cause? {
        while true {
            let (tick, cause) = end.withLock { $0 }
            if MonotonicClock.now >= tick { return cause }
            // Only cancellation ends the sleep early.
            guard (try? await Task.sleep(for: Self.step)) != nil else { return nil }
        }
    }
}

/// Lets one of an event stream's tasks write at a time, in the order of asking.
actor WritingTurn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func give() {
        guard !waiting.isEmpty else {
            isTaken = false
            return
        }
        waiting.removeFirst().resume()
    }
}

extension SocketPool {
    /// Returns when the pool has done with what it resumed before.
    ///
    /// It resumes a reader first and forgets its descriptor then. A reader that closed it in between would leave an
    /// entry behind, and the next connection with the descriptor's number would never hear of anything.
    func settle() {}
}

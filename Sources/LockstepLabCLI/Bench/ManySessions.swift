import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepNode
import LockstepServer
import ZeroMQ

/// Sessions without nodes: SUBMIT and RESULT by hand over one connection, so that ten thousand sessions need one thread.
///
/// Each session has so many arrays in flight and sends the next when one is answered, as ``Load`` does. Nothing is
/// repeated: on loopback nothing is lost, and anything but the awaited answers ends the measurement with an error.
struct ManySessions: Sendable {
    let endpoint: String
    let sessions: Int
    /// Arrays that a session has in flight.
    let arrays: Int
    /// Actions in one array.
    let chunk: Int
    let seconds: Double

    func run() throws -> LoadReport {
        let context = try Context()
        var connection = Connection(try Endpoints.link(context, to: endpoint))
        let welcome = try connection.greet()
        connection.stamp = FrameStamp(
            channel: welcome.channel, clusterHash: welcome.cluster.hash, epoch: welcome.commit.epoch)
        var places: [SessionID: Int] = [:]
        var open = try (0..<sessions).map { index in
            let id = try connection.open(index)
            places[id] = index
            return OpenSession(id: id)
        }
        let names = CounterNames.make(1_000)
        var generator = SplitGenerator(seed: UInt64.random(in: .min ... .max))
        var report = LoadReport()
        let start = ContinuousClock.now
        let end = start + .seconds(seconds)
        for index in open.indices {
            for _ in 0..<arrays { try connection.submit(&open[index], chunk, names, &generator) }
        }
        while open.contains(where: { !$0.sent.isEmpty }) {
            try connection.receive { message in
                guard case .result(let run) = message, let index = places[run.session] else {
                    throw CommandFailure("a session got \(message) instead of its answers")
                }
                let now = ContinuousClock.now
                report.actions += run.count
                open[index].answered = run.first + UInt64(run.count) - 1
                while let oldest = open[index].sent.first, oldest.last <= open[index].answered {
                    open[index].sent.removeFirst()
                    report.latencies.append(oldest.at.duration(to: now) / .microseconds(1))
                }
            }
            guard ContinuousClock.now < end else { continue }
            for index in open.indices {
                while open[index].sent.count < arrays { try connection.submit(&open[index], chunk, names, &generator) }
            }
        }
        report.seconds = start.duration(to: .now) / .seconds(1)
        return report
    }

    /// A session and what it waits for, oldest first.
    private struct OpenSession {
        var id: SessionID
        var next: RequestNumber = 1
        var answered: RequestNumber = 0
        var sent: [(last: RequestNumber, at: ContinuousClock.Instant)] = []
    }

    /// The one connection that all of them share.
    private struct Connection: ~Copyable {
        var socket: Socket<Dealer>
        var stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        private let poller = Poller<Int>()
        private var message = ZeroMQ.Message()
        private static let patience: Duration = .seconds(30)

        init(_ socket: consuming Socket<Dealer>) {
            poller.add(socket, as: 0)
            self.socket = socket
        }

        /// HELLO, again until its answer is here: nothing is sent before the connection is up.
        mutating func greet() throws -> Welcome {
            let hello = Hello(
                nonce: 1, role: .client, node: "bench-sessions", incarnation: Incarnation(rawValue: 1),
                boot: BootID(rawValue: .random(in: 1 ... .max)), store: Hosted.counters, known: .none)
            let frame = stamp.frame(.hello(hello))
            let end = ContinuousClock.now + Self.patience
            while ContinuousClock.now < end {
                if try socket.send(frame) { return try welcome() }
                try poller.wait(timeout: .milliseconds(10))
            }
            throw CommandFailure("the primary cannot be reached")
        }

        private mutating func welcome() throws -> Welcome {
            var answer: Welcome?
            while answer == nil {
                try receive { message in
                    guard case .welcome(let welcome) = message else {
                        throw CommandFailure("HELLO was answered by \(message)")
                    }
                    answer = welcome
                }
            }
            guard let answer else { throw CommandFailure("the primary does not answer") }
            return answer
        }

        mutating func open(_ index: Int) throws -> SessionID {
            let open = Open(
                client: ClientKey(rawValue: UInt128(index + 1)), nonce: UInt64(index + 1), timeToLive: 600_000_000,
                windowNumbers: Limits.windowNumbers, windowBytes: 1 << 20)
            try send(stamp.frame(.open(open)))
            var id: SessionID?
            while id == nil {
                try receive { message in
                    guard case .opened(let opened) = message else {
                        throw CommandFailure("OPEN was answered by \(message)")
                    }
                    id = opened.session
                }
            }
            guard let id else { throw CommandFailure("the primary does not open a session") }
            return id
        }

        mutating func submit(
            _ session: inout OpenSession, _ chunk: Int, _ names: [String], _ generator: inout SplitGenerator
        ) throws {
            let header = FrameHeader(
                channel: stamp.channel, kind: .submit, clusterHash: stamp.clusterHash, epoch: stamp.epoch)
            let frame = header.frame(capacity: 24 * chunk + 64) { writer in
                writer.writeSession(session.id)
                writer.writeVarint(session.next)
                writer.writeVarint(session.answered)
                writer.writeBool(false)
                writer.writeVarint(UInt64(chunk))
                for _ in 0..<chunk {
                    let action = Counters.Action.add(names[generator.next(below: names.count)], by: 1)
                    writer.writeMeasured { action.encode(into: &$0) }
                }
            }
            session.next += UInt64(chunk)
            session.sent.append((session.next - 1, .now))
            try send(frame)
        }

        private mutating func send(_ frame: [UInt8]) throws {
            guard try socket.send(frame) else { throw CommandFailure("the connection to the primary is full") }
        }

        /// Waits for frames and hands each to `body`.
        mutating func receive(_ body: (LockstepCore.Message) throws -> Void) throws {
            guard try poller.wait(timeout: Self.patience) > 0 else { throw CommandFailure("the primary is silent") }
            while let received = try socket.receive(into: &message) {
                guard case .message = received else { continue }
                let decoded = message.withBytes { span in
                    Result { () throws(WireError) in try LockstepCore.Message.decode(span, rule: .any).1 }
                }
                try body(try decoded.get())
            }
        }
    }
}

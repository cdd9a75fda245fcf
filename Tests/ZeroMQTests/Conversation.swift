import Foundation
import Synchronization
import ZeroMQ

/// Nothing came within the time that a test is ready to wait.
struct Silence: Error {}

/// Something else came than a message of one frame.
struct Unexpected: Error {
    let received: String
}

/// A way for sockets to reach each other, with a free endpoint of its kind.
enum Transport: CaseIterable {
    case inproc, ipc, tcp

    private static let lastNumber = Atomic(0)

    var freeEndpoint: String {
        switch self {
        case .inproc: "inproc://test.\(Self.lastNumber.add(1, ordering: .relaxed).newValue)"
        case .ipc: "ipc://*"
        case .tcp: "tcp://127.0.0.1:*"
        }
    }
}

extension Socket {
    /// Waits until there is something to receive.
    borrowing func waitUntilReadable() throws {
        let poller = Poller<Int>()
        poller.add(self, as: 0)
        guard try poller.wait(timeout: .seconds(30)) == 1 else { throw Silence() }
    }

    /// Binds to a free endpoint and says which.
    mutating func bindAnywhere(_ transport: Transport = .inproc) throws -> String {
        try bind(to: transport.freeEndpoint)
        return try lastEndpoint
    }
}

extension Socket where Kind: CanSend {
    /// Sends a message as soon as there is a peer with room for it.
    borrowing func deliver(_ bytes: [UInt8]) throws {
        try deliver(frames: [bytes])
    }

    /// Sends a message of several frames as soon as there is a peer with room for it.
    borrowing func deliver(frames: [[UInt8]]) throws {
        let poller = Poller<Int>()
        poller.add(self, as: 0, for: .writable)
        guard try poller.wait(timeout: .seconds(30)) == 1, try send(frames: frames) else { throw Silence() }
    }
}

extension Socket where Kind: CanReceive {
    /// The next message, for which it waits.
    borrowing func next() throws -> [UInt8] {
        try waitUntilReadable()
        var message = Message()
        let received = try receive(into: &message)
        guard case .message = received else { throw Unexpected(received: "\(received, default: "nil")") }
        return message.bytes
    }
}

extension Socket where Kind: CanRoute {
    /// The next message and its sender, for which it waits.
    borrowing func next() throws -> (peer: RoutingID, bytes: [UInt8]) {
        try waitUntilReadable()
        var message = Message()
        let received = try receive(into: &message)
        guard case .message(let peer) = received else { throw Unexpected(received: "\(received, default: "nil")") }
        return (peer, message.bytes)
    }
}

extension SocketMonitor {
    /// The next events up to and with the first that `isLast` accepts.
    borrowing func events(until isLast: (SocketEvent.Kind) -> Bool) throws -> [SocketEvent] {
        let poller = Poller<Int>()
        poller.add(self, as: 0)
        var events: [SocketEvent] = []
        while true {
            while let event = try next() {
                events.append(event)
                if isLast(event.kind) { return events }
            }
            guard try poller.wait(timeout: .seconds(30)) == 1 else { throw Silence() }
        }
    }
}

/// Runs `body` on a thread of its own, which it may block; the result is there when the thread has ended.
final class OtherThread<Result: Sendable>: Sendable {
    private let result = Mutex<Result?>(nil)
    private let isDone = DispatchSemaphore(value: 0)

    init(_ body: @escaping @Sendable () -> Result) {
        Thread { [self] in
            let result = body()
            self.result.withLock { $0 = result }
            isDone.signal()
        }.start()
    }

    /// Waits for the thread's end.
    func join() throws -> Result {
        guard isDone.wait(timeout: .now() + 30) == .success, let result = result.withLock({ $0 }) else {
            throw Silence()
        }
        return result
    }
}

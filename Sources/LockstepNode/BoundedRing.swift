internal import DequeModule
package import LockstepCore
package import ZeroMQ

/// A frame that was taken from a socket and waits for its turn.
package enum WaitingFrame: Sendable {
    case copied([UInt8])
    case held(ZeroMQ.Message)

    /// A small frame is copied, since keeping it would keep a receive buffer of 8 KiB; a large one is kept as it is.
    package init(_ message: ZeroMQ.Message) {
        self = message.count <= Self.smallBytes ? .copied(message.bytes) : .held(message)
    }

    /// It may hold thousands of actions or mutations, so the clock is asked after it; of others once in a few, since a
    /// small one takes less time than the clock.
    package var isLarge: Bool { count > Self.smallBytes }

    private static let smallBytes = 4_096

    package var count: Int {
        switch self {
        case .copied(let bytes): bytes.count
        case .held(let message): message.count
        }
    }

    /// The bytes as an array; a copy unless the frame was copied when it came.
    package var bytes: [UInt8] {
        switch self {
        case .copied(let bytes): bytes
        case .held(let message): message.bytes
        }
    }

    package func withFrame<Result>(_ body: (RawSpan) -> Result) -> Result {
        switch self {
        case .copied(let bytes): withBytes(of: bytes, body)
        case .held(let message): message.withBytes(body)
        }
    }
}

/// Frames between a socket, which is drained every turn, and the machines, which take what a turn's time allows.
///
/// The bound counts bytes and a fixed sum for each frame, so that a flood of empty frames fills it too.
package struct BoundedRing {
    package enum WhenFull: Hashable, Sendable {
        /// The newest is refused: its sender is owed an answer and sends again.
        case refuseNewest
        /// The oldest goes: the stream is repaired from wherever it has a hole.
        case dropOldest
    }

    private var frames: Deque<(frame: WaitingFrame, from: Connection)> = []
    package private(set) var byteCount = 0
    /// Frames that found no room, or had to go.
    package private(set) var dropped: UInt64 = 0
    package let capacity: Int
    private let whenFull: WhenFull

    /// What a frame costs beside its bytes.
    private static let overhead = 128

    package init(capacity: Int, whenFull: WhenFull) {
        self.capacity = capacity
        self.whenFull = whenFull
    }

    package var isEmpty: Bool { frames.isEmpty }
    package var count: Int { frames.count }

    package mutating func append(_ frame: WaitingFrame, from connection: Connection) {
        let size = frame.count + Self.overhead
        if byteCount + size > capacity, whenFull == .refuseNewest {
            dropped += 1
            return
        }
        frames.append((frame, connection))
        byteCount += size
        while byteCount > capacity, frames.count > 1 {
            _ = popFirst()
            dropped += 1
        }
    }

    package mutating func popFirst() -> (frame: WaitingFrame, from: Connection)? {
        guard let first = frames.popFirst() else { return nil }
        byteCount -= first.frame.count + Self.overhead
        return first
    }

    package mutating func removeAll() {
        frames.removeAll()
        byteCount = 0
    }
}

internal import DequeModule
package import LockstepCore

/// Frames of many peers between a socket, which is drained every turn, and the machines, which take what a turn's time
/// allows: each connection has a line of its own, and the lines take turns, a frame each (PROTOCOL, R-54).
///
/// So only its sender waits for a flood. The bounds count bytes and a fixed sum for each frame.
package struct FairRing {
    private struct Line {
        var frames: Deque<WaitingFrame> = []
        var byteCount = 0
    }

    private var lines: [Connection: Line] = [:]
    /// Those that have a line, in the order of their turns.
    private var order: Deque<Connection> = []
    package private(set) var byteCount = 0
    /// Frames that found no room, or went with their line.
    package private(set) var dropped: UInt64 = 0
    package let capacity: Int
    private let share: Int

    /// What a frame costs beside its bytes.
    private static let overhead = 128

    /// Makes an empty ring of `capacity` bytes, of which one connection may have `share`.
    package init(capacity: Int, share: Int) {
        self.capacity = capacity
        self.share = share
    }

    package var isEmpty: Bool { order.isEmpty }

    /// Appends a frame, or refuses it where the ring is full: its sender is owed an answer and sends again.
    ///
    /// Returns false if its connection would have more than its share: then its whole line is dropped, and it is to end.
    package mutating func append(_ frame: WaitingFrame, from connection: Connection) -> Bool {
        let size = frame.count + Self.overhead
        let held = lines[connection]?.byteCount ?? 0
        guard held + size <= share else {
            dropped += 1
            remove(connection)
            return false
        }
        guard byteCount + size <= capacity else {
            dropped += 1
            return true
        }
        if held == 0 { order.append(connection) }
        lines[connection, default: Line()].frames.append(frame)
        lines[connection]?.byteCount += size
        byteCount += size
        return true
    }

    package mutating func popFirst() -> (frame: WaitingFrame, from: Connection)? {
        guard let connection = order.popFirst(), let frame = lines[connection]?.frames.popFirst() else { return nil }
        let size = frame.count + Self.overhead
        byteCount -= size
        lines[connection]?.byteCount -= size
        if lines[connection]?.frames.isEmpty ?? true {
            lines[connection] = nil
        } else {
            order.append(connection)
        }
        return (frame, connection)
    }

    /// Drops all frames of a connection.
    private mutating func remove(_ connection: Connection) {
        guard let line = lines.removeValue(forKey: connection) else { return }
        byteCount -= line.byteCount
        dropped += UInt64(line.frames.count)
        order.removeAll { $0 == connection }
    }
}

internal import Dispatch
internal import Foundation
internal import Synchronization

/// Reads a node's access file again when it has changed, on a queue of its own.
///
/// A queue and not the node's thread, since a disk may take its time; and none that others use, since a withdrawn key
/// must not wait for a snapshot. The node asks for a look and takes what was found when it is there.
final class AccessWatch: Sendable {
    private let file: AccessFile
    private let queue = DispatchQueue(label: "lockstep.access")
    private let state: Mutex<State>
    private let signal: @Sendable () -> Void

    private struct State {
        /// Of the text that was read last.
        var stamp: AccessFile.Stamp?
        var isLooking = false
        var found: Result<AccessList, any Error>?
    }

    /// A file that was written less long ago may change again within the same moment of its clock.
    private static let settlingSeconds = 2.0

    /// Watches a file that has been read; `signal` is called when something was found.
    init(_ file: AccessFile, signal: @escaping @Sendable () -> Void) {
        self.file = file
        self.signal = signal
        state = Mutex(State())
    }

    /// Looks at the file, unless a look is under way.
    func look() {
        let begins = state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        guard begins else { return }
        queue.async { [self] in
            let found = read()
            state.withLock { state in
                state.isLooking = false
                if let found { state.found = found }
            }
            if found != nil { signal() }
        }
    }

    /// What was found since the last call; nil: nothing has changed.
    func take() -> Result<AccessList, any Error>? { state.withLock { $0.found.take() } }

    var isWaiting: Bool { state.withLock { $0.found != nil } }

    private func read() -> Result<AccessList, any Error>? {
        let before = state.withLock { $0.stamp }
        do {
            let stamp = try file.stamp()
            guard stamp != before || !Self.isSettled(stamp) else { return nil }
            let list = try file.read()
            // A text that was changed while it was read is read again at the next look.
            let isWhole = try file.stamp() == stamp
            state.withLock { $0.stamp = isWhole ? stamp : nil }
            return .success(list)
        } catch {
            // Whatever is there now is looked at again each time, until it can be used.
            state.withLock { $0.stamp = nil }
            return .failure(error)
        }
    }

    private static func isSettled(_ stamp: AccessFile.Stamp) -> Bool {
        let changed = Double(max(stamp.seconds, stamp.changeSeconds))
        return Date().timeIntervalSince1970 - changed > settlingSeconds
    }
}

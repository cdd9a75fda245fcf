import Synchronization

/// The place of an entry: its epoch and its sequence number.
public struct Place: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The epoch in which the entry was written.
    public let epoch: Epoch
    /// The entry's sequence number; 0 is "before the first".
    public let sequence: SequenceNumber
    /// Makes a place.
    public init(epoch: Epoch, sequence: SequenceNumber) {
        self.epoch = epoch
        self.sequence = sequence
    }
    /// Before the first entry.
    public static let start = Place(epoch: .zero, sequence: .zero)
    /// `epoch:sequence`.
    public var description: String { "\(epoch):\(sequence)" }
    /// Later entries are greater.
    public static func < (left: Place, right: Place) -> Bool {
        (left.epoch, left.sequence) < (right.epoch, right.sequence)
    }
}

/// A committed state, and where in the log it stands.
public struct Snapshot<State: Sendable>: Sendable {
    /// The state after the entry at ``place``.
    public let state: State
    /// The last entry that the state includes.
    public let place: Place
    /// The time of that entry.
    public let time: LogTime

    /// Makes a snapshot.
    public init(state: State, place: Place, time: LogTime) {
        self.state = state
        self.place = place
        self.time = time
    }
}

/// A snapshot that all readers share: whoever looks into it counts one reference, however many fields the state has.
@usableFromInline
package final class SharedSnapshot<State: Sendable>: Sendable {
    @usableFromInline package let snapshot: Snapshot<State>
    package init(_ snapshot: Snapshot<State>) { self.snapshot = snapshot }
}

/// The state that a node shows: written by the node's thread, read and waited for by any other.
///
/// The lock is held to copy a reference in or out, never while user code runs. The node publishes only when somebody
/// asks (PROTOCOL, R-16), because a state that is kept makes later writes more expensive.
@usableFromInline
package final class PublishedState<State: Sendable>: Sendable {
    private struct Contents {
        var shared: SharedSnapshot<State>
        /// Grows with each publication; a place does not, since a state may be replaced by another at the same one.
        ///
        /// 0: nothing was published, and whoever waits for states waits for the first.
        var version: UInt64
        var owners = 0
        var isFinished = false
        var lastWaiter: UInt64 = 0
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let contents: Mutex<Contents>
    private let wanted = Atomic<Bool>(false)

    /// Shows `snapshot`; unless `isShown` it only stands there for those who look, and those who wait for states begin
    /// with the first that is published.
    package init(_ snapshot: Snapshot<State>, isShown: Bool = true) {
        contents = Mutex(Contents(shared: SharedSnapshot(snapshot), version: isShown ? 1 : 0))
    }

    /// The newest snapshot, to be looked into; asking for it asks for a newer one.
    @usableFromInline package var shared: SharedSnapshot<State> {
        want()
        return contents.withLock { $0.shared }
    }

    /// The newest snapshot; it asks for a newer one.
    package func current() -> Snapshot<State> { shared.snapshot }

    /// The newest snapshot and its version; it asks for a newer one.
    package func currentVersion() -> (snapshot: Snapshot<State>, version: UInt64) {
        want()
        let (shared, version) = contents.withLock { ($0.shared, $0.version) }
        return (shared.snapshot, version)
    }

    /// Whether there is a state to be shown.
    package var isShown: Bool { contents.withLock { $0.version > 0 } }

    /// Whether somebody has asked since the last publication.
    package var isWanted: Bool { wanted.load(ordering: .relaxed) }

    private func want() {
        // A load first, so that many readers do not fight for the line.
        if !wanted.load(ordering: .relaxed) { wanted.store(true, ordering: .relaxed) }
    }

    /// Shows a newer snapshot and wakes all who wait.
    package func publish(_ snapshot: Snapshot<State>) {
        wanted.store(false, ordering: .relaxed)
        // The old snapshot is let go outside of the lock: it may be the last holder of much memory.
        let shared = SharedSnapshot(snapshot)
        let (old, waiters) = contents.withLock { contents in
            let old = contents.shared
            contents.shared = shared
            contents.version += 1
            defer { contents.waiters = [] }
            return (old, contents.waiters)
        }
        for waiter in waiters { waiter.continuation.resume() }
        withExtendedLifetime(old) {}
    }

    /// The newest snapshot and its version as soon as that differs from `version`; `nil` once the node has stopped and
    /// there is none, and when the task is cancelled.
    package func next(after version: UInt64) async -> (snapshot: Snapshot<State>, version: UInt64)? {
        while !Task.isCancelled {
            let (found, isFinished) = contents.withLock { contents in
                (contents.version == version ? nil : (contents.shared, contents.version), contents.isFinished)
            }
            if let found { return (found.0.snapshot, found.1) }
            if isFinished { return nil }
            want()
            await wait(for: version)
        }
        return nil
    }

    private func wait(for version: UInt64) async {
        let id = contents.withLock { contents in
            contents.lastWaiter += 1
            return contents.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation before this sees no waiter, and is seen here; a later one finds the waiter.
                let isOver = contents.withLock { contents in
                    guard contents.version == version, !contents.isFinished, !Task.isCancelled else { return true }
                    contents.waiters.append((id, continuation))
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            let waiter = contents.withLock { contents in
                contents.waiters.firstIndex { $0.id == id }.map { contents.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
    }

    /// A node's state exists that will publish.
    package func ownerBegan() {
        contents.withLock { contents in
            contents.owners += 1
            contents.isFinished = false
        }
    }

    /// It is gone; with the last one, whoever waits learns that nothing will come.
    package func ownerEnded() { finishUnlessOwned { $0.owners -= 1 } }

    /// The node has ended: if its state never was there, or is gone, nothing will come.
    package func nodeEnded() { finishUnlessOwned { _ in } }

    private func finishUnlessOwned(_ change: (inout Contents) -> Void) {
        let waiters = contents.withLock { contents in
            change(&contents)
            guard contents.owners == 0 else {
                return [] as [(id: UInt64, continuation: CheckedContinuation<Void, Never>)]
            }
            contents.isFinished = true
            defer { contents.waiters = [] }
            return contents.waiters
        }
        for waiter in waiters { waiter.continuation.resume() }
    }
}

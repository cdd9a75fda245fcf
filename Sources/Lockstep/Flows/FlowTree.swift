import Synchronization

/// A flow that is running, for looking at.
public struct RunningFlow: Hashable, Sendable {
    /// Its name in the tree.
    public let id: FlowID
    /// The flow that coordinates or launched it; `nil` for a root.
    public let parent: FlowID?
    /// What it calls itself.
    public let name: String
    /// 0 for a root, 1 for its children, and so on.
    public let depth: Int
}

/// The flows that run in this process, and what may be done to them from outside: look, and dismiss.
///
/// A flow is in the tree from the moment it is started until whoever started it has its outcome, whichever way it ends.
/// The tree holds nothing of a flow beyond that.
public final class FlowTree: Sendable {
    /// What may still come of a flow.
    fileprivate enum Ending {
        case open
        /// It has come back by itself.
        case returned
        case dismissed
    }

    private struct Entry {
        let flow: RunningFlow
        let number: UInt64
        var ending = Ending.open
        /// Who waits for a dismissal.
        var watcher: CheckedContinuation<Bool, Never>?
    }

    private struct Contents {
        /// In the order of their starts.
        var entries: [Entry] = []
        var lastNumber: UInt64 = 0

        func place(_ number: UInt64) -> Int? { entries.firstIndex { $0.number == number } }
    }

    private let contents = Mutex(Contents())
    private let limit: Int
    private let onFailure: @Sendable (RunningFlow, any Error) -> Void

    /// Makes an empty tree.
    /// - Parameters:
    ///   - limit: how many flows may run at a time; 1,000 by default.
    ///   - onFailure: told of a launched flow that failed, since nobody waits for it.
    public init(
        limit: Int = 1_000, onFailure: @escaping @Sendable (RunningFlow, any Error) -> Void = { _, _ in }
    ) {
        self.limit = limit
        self.onFailure = onFailure
    }

    /// The flows that are running, in the order of their starts.
    public var running: [RunningFlow] { contents.withLock { $0.entries.map(\.flow) } }

    /// Runs a flow as a root.
    /// - Parameters:
    ///   - flow: the flow.
    ///   - id: its name; one is made if none is given.
    /// - Returns: its result, or what it says for a dismissal.
    /// - Throws: what it throws, and ``FlowError``.
    public func run<F: Flow>(_ flow: F, id: FlowID? = nil) async throws -> F.Result {
        try await run(flow, started: try start(flow, id: id, parent: nil))
    }

    /// Ends a running flow from outside, as a user does who closes its screen.
    ///
    /// It is cancelled with all its children, and ends as dismissed whatever it returns then.
    /// - Parameter id: the name of the flow.
    /// - Returns: whether this ended it: true exactly once, and never for a flow that has ended otherwise.
    @discardableResult public func dismiss(_ id: FlowID) -> Bool {
        let (isFirst, watcher) = contents.withLock { contents in
            guard let place = contents.entries.firstIndex(where: { $0.flow.id == id }),
                contents.entries[place].ending == .open
            else { return (false, nil as CheckedContinuation<Bool, Never>?) }
            contents.entries[place].ending = .dismissed
            return (true, contents.entries[place].watcher.take())
        }
        watcher?.resume(returning: true)
        return isFirst
    }

    func report(_ flow: RunningFlow, _ error: any Error) { onFailure(flow, error) }
}

extension FlowTree {
    /// A flow's place in the tree.
    struct Started: Sendable {
        let flow: RunningFlow
        let number: UInt64
    }

    /// Enters a flow; it must be run, or taken out by `end`.
    func start<F: Flow>(_ flow: F, id: FlowID?, parent: FlowScope?) throws(FlowError) -> Started {
        let name = flow.name
        return try contents.withLock { contents throws(FlowError) in
            guard contents.entries.count < limit else { throw .tooManyFlows(limit: limit) }
            contents.lastNumber += 1
            let id = id ?? FlowID("\(name)-\(contents.lastNumber)")
            guard !contents.entries.contains(where: { $0.flow.id == id }) else { throw .alreadyRunning(id) }
            let running = RunningFlow(id: id, parent: parent?.id, name: name, depth: parent.map { $0.depth + 1 } ?? 0)
            contents.entries.append(Entry(flow: running, number: contents.lastNumber))
            return Started(flow: running, number: contents.lastNumber)
        }
    }

    func end(_ started: Started) {
        contents.withLock { contents in contents.entries.removeAll { $0.number == started.number } }
    }

    /// Notes that a flow has come back; false if it was dismissed before.
    private func returned(_ started: Started) -> Bool {
        contents.withLock { contents in
            guard let place = contents.place(started.number), contents.entries[place].ending == .open else {
                return false
            }
            contents.entries[place].ending = .returned
            return true
        }
    }

    /// Waits for a dismissal; false if there was none when the task was cancelled.
    private func isDismissed(_ started: Started) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation before this is seen here; a later one finds the watcher. The same for a dismissal.
                let answer: Bool? = contents.withLock { contents in
                    guard let place = contents.place(started.number) else { return false }
                    if contents.entries[place].ending == .dismissed { return true }
                    if Task.isCancelled { return false }
                    contents.entries[place].watcher = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let watcher = contents.withLock { contents in
                contents.place(started.number).flatMap { contents.entries[$0].watcher.take() }
            }
            watcher?.resume(returning: false)
        }
    }

    /// Runs a flow that was entered; when it returns, the flow, its children and its entry are gone.
    func run<F: Flow>(_ flow: F, started: Started) async throws -> F.Result {
        defer { end(started) }
        try Task.checkCancellation()
        let launches = LaunchQueue()
        let scope = FlowScope(flow: started.flow, tree: self, launches: launches)
        // The three tasks of a flow: itself, its launched children, and the one that waits for a dismissal. The first
        // outcome ends the others, and the group returns when all have ended.
        let outcome = await withTaskGroup(of: Swift.Result<F.Result, any Error>?.self) { group in
            group.addTask {
                let outcome: Swift.Result<F.Result, any Error>
                do { outcome = .success(try await flow.run(scope)) } catch { outcome = .failure(error) }
                // Whoever comes first decides; what a flow returns after its dismissal does not count.
                return self.returned(started) ? outcome : nil
            }
            group.addTask { await self.isDismissed(started) ? Self.dismissal(of: flow) : nil }
            group.addTask {
                await launches.run()
                return nil
            }
            var outcome: Swift.Result<F.Result, any Error>?
            while outcome == nil, let next = await group.next() { outcome = next }
            group.cancelAll()
            await group.waitForAll()
            return outcome
        }
        // Without one it was dismissed when nobody waited for that any longer: its task had been cancelled before.
        return try (outcome ?? Self.dismissal(of: flow)).get()
    }

    /// What a flow that was dismissed ends with.
    private static func dismissal<F: Flow>(of flow: F) -> Swift.Result<F.Result, any Error> {
        guard let result = flow.resultOfDismissal else { return .failure(FlowError.dismissed) }
        return .success(result)
    }
}

import Synchronization

/// What a running flow may do: run children, and launch others beside itself.
public struct FlowScope: Sendable {
    let flow: RunningFlow
    /// The tree that it runs in.
    public let tree: FlowTree
    let launches: LaunchQueue

    /// The name of the running flow.
    public var id: FlowID { flow.id }
    /// 0 for a root, 1 for its children, and so on.
    public var depth: Int { flow.depth }

    /// Runs a child and waits for its result.
    ///
    /// The child is freed before this returns, whether it gave a value, failed, was cancelled or was dismissed.
    /// Cancelling the caller cancels the child.
    /// - Parameters:
    ///   - child: the flow.
    ///   - id: its name; one is made if none is given.
    /// - Returns: its result, or what it says for a dismissal.
    /// - Throws: what it throws, and ``FlowError``.
    public func coordinate<F: Flow>(_ child: F, id: FlowID? = nil) async throws -> F.Result {
        try await tree.run(child, started: try tree.start(child, id: id, parent: self))
    }

    /// Starts a child and does not wait for it.
    ///
    /// It runs beside this flow, and is cancelled and awaited when this one ends. Its failure goes to the tree's
    /// `onFailure`; its result to nobody.
    /// - Parameters:
    ///   - child: the flow.
    ///   - id: its name; one is made if none is given.
    /// - Returns: its name.
    /// - Throws: ``FlowError``: the tree is full, the name is taken, or the flow of this scope has ended.
    @discardableResult public func launch<F: Flow>(_ child: F, id: FlowID? = nil) throws(FlowError) -> FlowID {
        let started = try tree.start(child, id: id, parent: self)
        let isTaken = launches.append { [tree] in
            do {
                _ = try await tree.run(child, started: started)
            } catch is CancellationError {
                return
            } catch FlowError.dismissed {
                return
            } catch {
                tree.report(started.flow, error)
            }
        }
        guard isTaken else {
            tree.end(started)
            throw .scopeEnded
        }
        return started.flow.id
    }

    /// Shows a route as long as a closure runs, under the name of this flow; it is removed on every way out.
    /// - Parameters:
    ///   - route: what is shown.
    ///   - routes: where.
    ///   - body: what happens meanwhile.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws, and ``FlowError`` if there is no room for the route.
    public func presenting<Route, Result>(
        _ route: Route, in routes: LocalRoutes<Route>, _ body: () async throws -> Result
    ) async throws -> Result {
        let parent = flow.parent.flatMap { routes.stack.contains($0) ? $0 : nil }
        try routes.present(FlowRoute(id: id, parent: parent, route: route))
        defer { routes.dismiss(id) }
        return try await body()
    }
}

/// Children that were launched and wait to be started by the one who will await them.
///
/// Its bound is the tree's: each of them is in the tree already.
final class LaunchQueue: Sendable {
    typealias Job = @Sendable () async -> Void

    private struct Contents {
        var jobs: [Job] = []
        var isClosed = false
        var starter: CheckedContinuation<Void, Never>?
    }

    private let contents = Mutex(Contents())

    /// False if nothing more will be started.
    func append(_ job: @escaping Job) -> Bool {
        let (isTaken, starter) = contents.withLock { contents in
            if !contents.isClosed { contents.jobs.append(job) }
            return (!contents.isClosed, contents.starter.take())
        }
        starter?.resume()
        return isTaken
    }

    /// Starts what is launched until it is cancelled; it returns when all of that has ended.
    func run() async {
        await withDiscardingTaskGroup { group in
            var isOver = false
            while !isOver {
                await wait()
                // What was launched just before the end is started too, cancelled: it leaves the tree by itself.
                let jobs = contents.withLock { contents in
                    contents.isClosed = Task.isCancelled
                    isOver = contents.isClosed
                    defer { contents.jobs = [] }
                    return contents.jobs
                }
                for job in jobs { group.addTask { await job() } }
            }
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = contents.withLock { contents in
                    if !contents.jobs.isEmpty || Task.isCancelled { return true }
                    contents.starter = continuation
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            contents.withLock { $0.starter.take() }?.resume()
        }
    }
}

import Synchronization

/// Runs the tasks of a ``TestStore``, or of a test's own runtime of effects, on the thread that asks it to, one step at
/// a time, in the order in which they became ready.
///
/// A task that prefers this executor, its child tasks and the default actors that they call run nowhere else; so when
/// ``drain(limit:)`` has returned, each of them has ended, or waits for something that has not happened. What has an
/// executor of its own, such as the main actor, or was started without a parent, runs elsewhere, and comes back here.
package final class TestStoreExecutor: TaskExecutor {
    private struct Contents {
        var jobs: [UnownedJob] = []
        /// Nobody will drain it now: what is left runs elsewhere.
        var isClosed = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let contents = Mutex(Contents())

    package init() {}

    package func enqueue(_ job: UnownedJob) {
        let (isClosed, waiter) = contents.withLock { contents in
            if !contents.isClosed { contents.jobs.append(job) }
            return (contents.isClosed, contents.waiter.take())
        }
        if isClosed { globalConcurrentExecutor.enqueue(job) }
        waiter?.resume()
    }

    /// Whether nothing is ready.
    var isIdle: Bool { contents.withLock { $0.jobs.isEmpty } }

    /// Starts a task here.
    ///
    /// It has no parent: it lives from one call of the test to another, and ``TestStore`` cancels it
    /// and lets it end.
    package func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task(executorPreference: self, operation: body)
    }

    /// Runs what is ready, and what becomes ready by that, until nothing is; false if there was no end to it.
    package func drain(limit: Int = 1_000_000) -> Bool {
        var left = limit
        while left > 0 {
            let jobs = contents.withLock { contents in
                defer { contents.jobs = [] }
                return contents.jobs
            }
            guard !jobs.isEmpty else { return true }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            left -= jobs.count
        }
        return false
    }

    /// Lets whatever still comes run elsewhere.
    func close() {
        let jobs = contents.withLock { contents in
            contents.isClosed = true
            defer { contents.jobs = [] }
            return contents.jobs
        }
        for job in jobs { globalConcurrentExecutor.enqueue(job) }
    }

    /// Waits until something is ready, or the task is cancelled.
    func waitForJob() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A cancellation before this is seen here; one after it finds the waiter.
                let isOver = contents.withLock { contents in
                    guard contents.jobs.isEmpty, !Task.isCancelled else { return true }
                    contents.waiter = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            contents.withLock { $0.waiter.take() }?.resume()
        }
    }

    /// Waits until something is ready, for so long of real time; false if nothing came.
    func waitForJob(atMost limit: Duration) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await self.waitForJob()
                return !Task.isCancelled
            }
            group.addTask {
                // Ended early by the other one only.
                try? await Task.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            return await group.next() ?? false
        }
    }
}

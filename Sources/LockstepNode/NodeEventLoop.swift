internal import DequeModule
internal import Foundation
package import LockstepCore
internal import Synchronization
package import ZeroMQ

/// What a turn of a node leaves for its loop to do.
package enum LoopRest: Hashable, Sendable {
    /// There is more to do: turn again without waiting.
    case again
    /// Nothing is left until a socket is readable, somebody signals, or this moment.
    case until(Tick)
}

/// The work that a loop does between the jobs of its actor.
///
/// It belongs to the loop's thread.
package struct LoopWork {
    /// One round of everything that is ready.
    ///
    /// It is given the sockets that ended a sleep, if the loop slept just now; `nil`: any may be ready. Trying one that
    /// has nothing costs two system calls.
    package var turn: (_ ready: [LoopToken]?) -> LoopRest
    /// Whether producers left something since the last turn; asked once more before the loop sleeps.
    package var isWaiting: () -> Bool

    package init(turn: @escaping (_ ready: [LoopToken]?) -> LoopRest, isWaiting: @escaping () -> Bool) {
        self.turn = turn
        self.isWaiting = isWaiting
    }
}

/// The thread of a node: the executor of its actor, and the one owner of its sockets.
///
/// The thread starts with the loop and ends with it. It runs the actor's jobs as they come; while ``LoopWork`` is set
/// it also turns that, and it sleeps in a poller when a turn had nothing to do.
///
/// No wake-up is lost: the loop says `asleep`, then looks once more at its jobs and at what producers left, then polls.
/// A producer appends under a lock and then looks at `asleep`. Whichever lock section comes first, one of the two sees
/// the other, and one sleep costs one write, whoever ends it. The thread holds only ``Core``, so that the loop's last
/// reference, which is the actor's, ends it; jobs that come after ``LoopWork`` was taken away still run.
package final class NodeEventLoop: SerialExecutor {
    private let core: Core

    /// Starts the thread.
    ///
    /// - Throws: ``ZMQError`` if the process has no descriptor left for the wake-up.
    package init(name: String) throws {
        let core = Core(wakeUp: try WakeUp())
        self.core = core
        let thread = Thread { core.run() }
        thread.name = String(name.prefix(15))
        // Reactors run here, and coding of deep values recurses.
        thread.stackSize = 8 << 20
        thread.start()
    }

    deinit { core.end() }

    /// Ends the loop's sleep, if it sleeps: what was appended under a lock before will be seen.
    ///
    /// From any thread.
    package func signal() { core.signal() }

    /// Something that may end the loop's sleep and does not keep the loop alive; for callbacks of other threads.
    package var signaller: Signaller { Signaller(core: core) }

    package struct Signaller: Sendable {
        fileprivate let core: Core
        package func signal() { core.signal() }
    }

    /// The poller in which the loop sleeps.
    ///
    /// On the loop's thread only.
    package var poller: Poller<LoopToken> { core.onThread { $0.poller } }

    /// Gives the loop its work, or takes it away.
    ///
    /// On the loop's thread only.
    package func setWork(_ work: LoopWork?) { core.onThread { $0.work = work } }

    package var isOnThread: Bool { core.isOnThread }

    // MARK: - SerialExecutor

    package func enqueue(_ job: consuming ExecutorJob) {
        core.enqueue(UnownedJob(job), on: asUnownedSerialExecutor())
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func checkIsolated() {
        precondition(core.isOnThread, "this must run on the node's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { core.isOnThread }
}

/// Names a socket of a node in its poller.
package enum LoopToken: Hashable, Sendable {
    case ingress
    case bulk
    case broadcast
    case replication
    case administration
    /// libzmq's questions about who may connect.
    case access
    /// A store's connection to its primary, and its subscription.
    case link(Int)
    case linkBulk(Int)
    case linkBroadcast(Int)
    /// The connection to another data node, by its number.
    case peer(Int)
}

extension NodeEventLoop {
    /// What the thread holds.
    ///
    /// `@unchecked Sendable`: `jobs`, `asleep` and `threadID` are safe from any thread by their types; `own` is used on
    /// the loop's thread only, which ``onThread(_:)`` checks.
    fileprivate final class Core: @unchecked Sendable {
        private let wakeUp: WakeUp
        private let jobs = Mutex(Jobs())
        private let asleep = Atomic(false)
        private let threadID = Atomic<UInt>(0)
        private var own: Own

        private struct Jobs {
            var queue: Deque<Entry> = []
            var isEnding = false
        }

        private struct Entry {
            var job: UnownedJob
            var executor: UnownedSerialExecutor
        }

        struct Own {
            var poller: Poller<LoopToken>
            var work: LoopWork?
        }

        init(wakeUp: WakeUp) {
            self.wakeUp = wakeUp
            own = Own(poller: Poller(wakeUp: wakeUp))
        }

        var isOnThread: Bool { threadID.load(ordering: .relaxed) == Self.currentThread }

        private static var currentThread: UInt {
            #if canImport(Darwin)
                UInt(bitPattern: pthread_self())
            #else
                pthread_self()
            #endif
        }

        func onThread<Result>(_ body: (inout Own) -> Result) -> Result {
            precondition(isOnThread, "this must run on the node's thread")
            return body(&own)
        }

        func enqueue(_ job: UnownedJob, on executor: UnownedSerialExecutor) {
            jobs.withLock { $0.queue.append(Entry(job: job, executor: executor)) }
            signal()
        }

        func end() {
            jobs.withLock { $0.isEnding = true }
            signal()
        }

        func signal() {
            guard asleep.load(ordering: .sequentiallyConsistent),
                asleep.exchange(false, ordering: .sequentiallyConsistent)
            else { return }
            wakeUp.ring()
        }

        // MARK: - The thread

        func run() {
            threadID.store(Self.currentThread, ordering: .sequentiallyConsistent)
            var batch: Deque<Entry> = []
            var ready: [LoopToken]?
            while true {
                let isEnding = jobs.withLock { jobs in
                    swap(&jobs.queue, &batch)
                    return jobs.isEnding
                }
                let hadJobs = !batch.isEmpty
                while let entry = batch.popFirst() { entry.job.runSynchronously(on: entry.executor) }
                if let work = own.work {
                    let rest = work.turn(ready)
                    ready = nil
                    if case .until(let moment) = rest, !hadJobs { ready = sleep(until: moment) }
                } else if !hadJobs {
                    // The actor is gone, and with it everybody who could leave a job.
                    if isEnding { return }
                    _ = sleep(until: .never)
                }
            }
        }

        /// Which sockets are ready then; `nil` if it did not come to sleep.
        private func sleep(until moment: Tick) -> [LoopToken]? {
            defer { asleep.store(false, ordering: .sequentiallyConsistent) }
            asleep.store(true, ordering: .sequentiallyConsistent)
            let isWaiting = jobs.withLock { !$0.queue.isEmpty || $0.isEnding } || own.work?.isWaiting() ?? false
            guard !isWaiting else { return nil }
            let timeout: Duration? = moment == .never ? nil : .nanoseconds(max(0, moment - MonotonicClock.now))
            do {
                try own.poller.wait(timeout: timeout)
            } catch {
                // Only a context that was shut down fails, and the node shuts its context down after it let go of its
                // sockets; so this is a bug here, and going on would spin.
                preconditionFailure("the node's poller failed: \(error)")
            }
            return own.poller.ready
        }
    }
}

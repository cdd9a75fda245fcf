import Foundation
import Synchronization
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct PollerTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    private enum Link: Hashable { case first, second, third }

    @Test func itNamesTheSocketsThatAreReadyInTheirOrder() throws {
        let poller = Poller<Link>()
        var sender = try Socket<Push>(in: context)
        var first = try Socket<Pull>(in: context)
        var second = try Socket<Pull>(in: context)
        var third = try Socket<Pull>(in: context)
        poller.add(first, as: .first)
        poller.add(second, as: .second)
        poller.add(third, as: .third)
        #expect(try poller.wait(timeout: .zero) == 0)

        try sender.connect(to: third.bindAnywhere())
        try sender.deliver([1])
        try sender.disconnect()
        try sender.connect(to: first.bindAnywhere())
        try sender.deliver([1])
        #expect(try poller.wait(timeout: .seconds(30)) == 2)
        #expect(poller.ready == [.first, .third])
        #expect(try first.next() == [1])
        #expect(try poller.wait(timeout: .seconds(30)) == 1)
        #expect(poller.ready == [.third])

        poller.remove(.third)
        #expect(try poller.wait(timeout: .zero) == 0)
        #expect(poller.ready == [])
        _ = try second.bindAnywhere()
    }

    @Test func aSocketThatWasClosedLeavesByItself() throws {
        let poller = Poller<Link>()
        var sender = try Socket<Push>(in: context)
        var receiver = try Socket<Pull>(in: context)
        try sender.connect(to: receiver.bindAnywhere())
        try sender.deliver([1])
        poller.add(receiver, as: .first)
        #expect(try poller.wait(timeout: .seconds(30)) == 1)
        receiver.close()
        #expect(try poller.wait(timeout: .zero) == 0)
        let successor = try Socket<Pull>(in: context)
        poller.add(successor, as: .first)
        #expect(try poller.wait(timeout: .zero) == 0)
    }

    @Test func aTokenServesOneSocket() async {
        await #expect(processExitsWith: .failure) {
            let socket = try Socket<Pull>(in: Context())
            let poller = Poller<Int>()
            poller.add(socket, as: 1)
            poller.add(socket, as: 1)
        }
    }

    @Test func itTellsWhenAQueueHasRoomAgain() throws {
        var options = SocketOptions()
        options[.immediate] = true
        var dealer = try Socket<Dealer>(in: context, options: options)
        let poller = Poller<Link>()
        poller.add(dealer, as: .first, for: .writable)
        #expect(try poller.wait(timeout: .zero) == 0)
        var router = try Socket<Router>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        #expect(try poller.wait(timeout: .seconds(30)) == 1)
        poller.setInterest([], of: .first)
        #expect(try poller.wait(timeout: .zero) == 0)
        #expect(try dealer.send([1]))
    }

    /// Rounded down to milliseconds, a wait of less than one would be a busy loop.
    @Test(arguments: [Duration.microseconds(1), .microseconds(1_500), .milliseconds(20)])
    func itWaitsAtLeastAsLongAsItWasTold(timeout: Duration) throws {
        let poller = Poller<Link>(wakeUp: try WakeUp())
        let start = ContinuousClock.now
        #expect(try poller.wait(timeout: timeout) == 0)
        #expect(start.duration(to: .now) >= timeout)
        #expect(!poller.wasRung)
    }

    @Test func aRingFromAnotherThreadEndsAWait() throws {
        let wakeUp = try WakeUp()
        let waiting = OtherThread { () -> Bool in
            let poller = Poller<Link>(wakeUp: wakeUp)
            return (try? poller.wait(timeout: nil)) == 0 && poller.wasRung
        }
        wakeUp.ring()
        #expect(try waiting.join())
    }

    @Test func ringsBeforeAWaitCountAsOne() throws {
        let wakeUp = try WakeUp()
        let poller = Poller<Link>(wakeUp: wakeUp)
        for _ in 0..<100_000 { wakeUp.ring() }
        try poller.wait(timeout: nil)
        #expect(poller.wasRung)
        try poller.wait(timeout: .zero)
        #expect(!poller.wasRung)
        wakeUp.ring()
        wakeUp.drain()
        try poller.wait(timeout: .zero)
        #expect(!poller.wasRung)
        wakeUp.ring()
        try poller.wait(timeout: nil)
        #expect(poller.wasRung)
    }

    /// Every increment is followed by a ring; were one ring lost, the waiting thread would sleep with work to do.
    @Test func noRingIsLostBetweenManyThreadsAndOneThatSleeps() throws {
        let wakeUp = try WakeUp()
        let work = Atomics()
        let ringing = (0..<3).map { _ in
            OtherThread {
                for _ in 0..<20_000 {
                    work.count.add(1, ordering: .relaxed)
                    wakeUp.ring()
                }
            }
        }
        let poller = Poller<Link>(wakeUp: wakeUp)
        while work.count.load(ordering: .relaxed) < 60_000 {
            try poller.wait(timeout: .seconds(30))
            #expect(poller.wasRung)
        }
        for thread in ringing { try thread.join() }
    }

    /// No handler makes the system call below the wait go on by itself: `poll` ends at every signal.
    @Test func aSignalDoesNotEndAWait() throws {
        signal(SIGUSR1) { _ in signalsHandled.add(1, ordering: .relaxed) }
        let wakeUp = try WakeUp()
        let shared = Atomics()
        let waiting = OtherThread { () -> Bool in
            let poller = Poller<Link>(wakeUp: wakeUp)
            allow(SIGUSR1)
            shared.thread.withLock { $0 = pthread_self() }
            return (try? poller.wait(timeout: nil)) == 0 && poller.wasRung
        }
        var thread: pthread_t?
        while thread == nil { thread = shared.thread.withLock { $0 } }
        for count in 1...200 {
            pthread_kill(try #require(thread), SIGUSR1)
            while signalsHandled.load(ordering: .relaxed) < count { sched_yield() }
        }
        wakeUp.ring()
        #expect(try waiting.join())
    }

    @Test func signalsDoNotMakeAWaitLonger() throws {
        signal(SIGUSR2) { _ in }
        let shared = Atomics()
        let waiting = OtherThread { () -> Duration? in
            guard let poller = try? Poller<Link>(wakeUp: WakeUp()) else { return nil }
            allow(SIGUSR2)
            shared.thread.withLock { $0 = pthread_self() }
            shared.count.store(1, ordering: .releasing)
            defer { shared.thread.withLock { $0 = nil } }
            let start = ContinuousClock.now
            guard (try? poller.wait(timeout: .milliseconds(50))) == 0 else { return nil }
            return start.duration(to: .now)
        }
        // The thread may have ended already when this one has a turn.
        while shared.count.load(ordering: .acquiring) == 0 { sched_yield() }
        // Under the lock, so that the thread is still there.
        while shared.thread.withLock({ thread in thread.map { pthread_kill($0, SIGUSR2) } }) != nil { sched_yield() }
        #expect(try #require(try waiting.join()) >= .milliseconds(50))
    }
}

private let signalsHandled = Atomic(0)

/// Lets a signal reach the calling thread; the threads of Dispatch and what they start block most signals.
private func allow(_ signal: Int32) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, signal)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
}

/// What a test shares with its other threads.
private final class Atomics: Sendable {
    let count = Atomic(0)
    let thread = Mutex<pthread_t?>(nil)
}

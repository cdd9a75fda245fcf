import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// Clients and replicas that know all data nodes, while these take over from each other (PROTOCOL R-91).
@Suite(.serialized, .timeLimit(.minutes(5))) struct SeveralNodesTests {
    /// What callers of one store saw.
    private final class Callers: Sendable {
        private let seen = Mutex<(sums: [UInt64], longest: Duration)>(([], .zero))
        private let isOver = Atomic<Bool>(false)

        var count: Int { seen.withLock { $0.sums.count } }
        var sums: [UInt64] { seen.withLock { $0.sums } }
        /// The longest that an answer took since this was asked before.
        func takeLongest() -> Duration {
            seen.withLock { seen in
                defer { seen.longest = .zero }
                return seen.longest
            }
        }

        func end() { isOver.store(true, ordering: .relaxed) }

        /// Adds one again and again, by four callers, until ``end()`` and at least so often.
        func add(to port: StorePort, atLeast least: Int) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        while !self.isOver.load(ordering: .relaxed) || self.count < least {
                            let start = ContinuousClock.now
                            let sums = try await port.add([1, 1])
                            let took = start.duration(to: .now)
                            self.seen.withLock { $0 = ($0.sums + sums, max($0.longest, took)) }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }

        /// Waits until so many more actions were answered.
        func goOn(for more: Int) async throws {
            let target = count + more
            try await until { self.count >= target }
        }
    }

    /// Every action of a client is answered once, in whatever order nodes stop in order, get stuck and come back; and a
    /// replica ends with the same state.
    ///
    /// The log has the longest pause.
    @Test func callersSeeNoMoreThanAPause() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        let client = try Node(.client(of: cluster.endpoints))
        let port = try client.attachRemote(name: "sum")
        let replica = try Node(.replica(of: Array(cluster.endpoints.reversed())))
        let copy = try replica.attach(name: "sum") { SumState() }
        let callers = Callers()
        try await cluster.running([1, 2]) { lives in
            try await withRunning(client) {
                try await withRunning(replica) {
                    async let sent: Void = callers.add(to: port, atLeast: 2_000)
                    try await cluster.running([0]) { _ in
                        _ = try await cluster.primary(with: 3)
                        try await callers.goOn(for: 200)
                        _ = callers.takeLongest()
                    }
                    try await callers.goOn(for: 200)
                    let stop = callers.takeLongest()
                    try await cluster.running([0]) { _ in
                        let stuck = try await cluster.primary(with: 3)
                        #expect(stuck != 0)
                        let epoch = try await cluster.record.epoch
                        try await cluster.whileStuck(stuck) {
                            _ = try await cluster.primary(with: 2, after: epoch)
                            try await callers.goOn(for: 200)
                        }
                        _ = try await cluster.primary(with: 3, after: epoch)
                    }
                    callers.end()
                    try await sent
                    print("the longest pause: \(stop) of a stop in order, \(callers.takeLongest()) of a stuck disk")
                    let sums = callers.sums
                    #expect(sums.count >= 2_000 && sums.sorted() == Array(1...UInt64(sums.count)))
                    let total = UInt64(sums.count)
                    try await copy.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
                    let read = try await copy.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
                    #expect(try SumState.sum(read.answer) == total)
                    try await until { try await copy.status().phase == .live }
                    try await until {
                        let (own, other) = (
                            try await copy.status(), try await lives[0].port.status()
                        )
                        return own.digest != nil && own.digest == other.digest && own.sequence == other.sequence
                    }
                }
            }
        }
    }

    /// A client that begins while the first of its nodes are away finds the others; one that reads stays at a standby, and
    /// goes to the primary with what only that answers.
    @Test func aClientBeginsWhereverANodeIs() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            #expect(try await cluster.primary(with: 2) == 0)
            #expect(try await lives[0].port.add([1, 2]) == [1, 3])
            let client = try Node(.client(of: Array(cluster.endpoints.reversed())))
            let port = try client.attachRemote(name: "sum")
            try await withRunning(client) {
                let read = try await port.ask([], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
                #expect(try SumState.sum(read.answer) == 3)
                #expect(try await port.add([4]) == [7])
            }
        }
    }

    /// callers that give up before any node answers, again and again, are all served when the nodes are there; what
    /// they gave up has no effect.
    @Test(arguments: [1, 3]) func aClientThatBeginsBeforeItsNodesIsServed(known: Int) async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        let client = try Node(.client(of: Array(cluster.endpoints.prefix(known))))
        let port = try client.attachRemote(name: "sum")
        let givenUp = Tally()
        try await withRunning(client) {
            // Whichever fails ends the others.
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Self.addOnes(64, to: port, givenUp) }
                group.addTask {
                    try await until { givenUp.count >= 128 }
                    try await cluster.running([0, 1, 2]) { lives in
                        try await until { try await Self.sum(at: lives[0].port) == 64 }
                        // Whoever gave up and asks what became of it is told while there is a primary.
                        try await until { givenUp.isOver }
                        #expect(try await Self.sum(at: lives[0].port) == 64)
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    /// without any node callers are told in time that nothing was submitted, and the client ends when it is told to.
    @Test(arguments: [1, 3]) func callersOfNobodyAreToldInTime(known: Int) async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        let client = try Node(.client(of: Array(cluster.endpoints.prefix(known))))
        let port = try client.attachRemote(name: "sum")
        try await withRunning(client) {
            for _ in 0..<3 {
                let began = ContinuousClock.now
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<64 {
                        group.addTask {
                            let error = await #expect(throws: LockstepError.self) {
                                _ = try await port.submit(
                                    SumState.actions([1]), count: 1, timeout: .milliseconds(200))
                            }
                            #expect(error?.code == .timeout)
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(ContinuousClock.now - began < .seconds(20))
            }
        }
    }

    private static func sum(at port: StorePort) async throws -> UInt64 {
        let read = try await port.ask([], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
        return try SumState.sum(read.answer)
    }

    /// How often callers gave up, and whether all have ended.
    private final class Tally: Sendable {
        private let value = Atomic(0)
        private let ended = Atomic(false)
        var count: Int { value.load(ordering: .relaxed) }
        var isOver: Bool { ended.load(ordering: .relaxed) }
        func add() { value.add(1, ordering: .relaxed) }
        func end() { ended.store(true, ordering: .relaxed) }
    }

    private static func addOnes(_ count: Int, to port: StorePort, _ givenUp: Tally) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await addOne(to: port, givenUp) } }
            try await group.waitForAll()
        }
        givenUp.end()
    }

    /// Adds 1 once, in as many tries as it takes, of 200 ms each.
    private static func addOne(to port: StorePort, _ givenUp: Tally) async throws {
        while true {
            do {
                _ = try await port.submit(SumState.actions([1]), count: 1, timeout: .milliseconds(200))
                return
            } catch let error as LockstepError where error.code == .timeout {
                givenUp.add()
            } catch let error as LockstepError where error.code == .outcomeUnknown {
                guard let pending = error.pending else { throw error }
                let outcome = try await port.resolve(pending, timeout: StorePort.patience).outcomes().first
                if outcome?.status == .committed { return }
            }
        }
    }
}

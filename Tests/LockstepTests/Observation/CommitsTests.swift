import Lockstep
import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// Every commit with its cause and the states around it (SEMANTICS K7, K18, S7, S10, guarantees 10 and 11).
@Suite(.timeLimit(.minutes(5))) struct CommitsTests {
    /// S7, K18: each kind of entry comes with its cause, its mutations and the states before and after it; what is
    /// rejected comes with its reason.
    @Test func commitsCarryTheirCausesAndStates() async throws {
        let node = try Node(.local())
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.feeds = [ExternalSource("feed") { emit in try await emit(.said("fed")) }]
        studio.reactions = [.react("asked", to: { $0.asked }) { text, emit in try await emit(.asked(nil)) }]
        stage.open("a")
        let store = try node.store(studio, named: "studio")
        // From the initial state on, since nothing is in the log yet.
        let commits = store.commits(after: store.snapshot)
        try await withRunning(node) {
            _ = try await store.send(.say("hello"))
            _ = try await store.send(.work("a", nil))
            let refused = await #expect(throws: LockstepError.self) { try await store.send(.refused) }
            #expect(refused?.message == "refused")
            let failed = await #expect(throws: LockstepError.self) { try await store.send(.fail("f")) }
            #expect(failed?.code == .failed)
            _ = try await store.send(.wake("w", 1))
            _ = try await store.send(.ask("q"))

            var causes: [String: Int] = [:]
            var last = commits.start
            for try await commit in commits {
                #expect(commit.before == last.state && commit.place > last.place)
                #expect(commit.mutations.isEmpty == (commit.before == commit.after))
                #expect(store.place >= commit.place)
                last = commit.snapshot
                causes[name(of: commit.cause), default: 0] += 1
                if case .end(_, .failed) = commit.cause { #expect(commit.entry.rejection == "the string broke") }
                if commit.entry.rejection == "refused" { #expect(commit.mutations.isEmpty) }
                if case .feedback = commit.cause { causes["over", default: 0] += 1 }
                if causes["over"] != nil, causes["time"] != nil, causes["source feed"] != nil { break }
            }
            #expect(
                causes == [
                    "action": 4, "acceptance": 2, "effect": 3, "finished": 1, "failed": 1, "source feed": 1, "time": 1,
                    "feedback asked": 1, "over": 1,
                ])
            let current = try await store.snapshot(.session)
            #expect(current.state == last.state && current.place >= last.place)
        }
    }

    private func name(of cause: CommitCause) -> String {
        switch cause {
        case .action: "action"
        case .acceptance: "acceptance"
        case .effect: "effect"
        case .end(_, let end): end.rawValue
        case .source, .feedback, .time: cause.description
        }
    }

    /// Guarantee 10: from a state that was taken earlier on, no commit is missing and none comes twice; also on a
    /// replica.
    @Test func aReplicaShowsEveryCommitFromAStateOn() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let first = try primary.store(Ledger(), named: "ledger")
        try await withRunning(primary) {
            let replica = try Node(.replica(of: await primary.listening()))
            let second = try replica.store(Ledger(), named: "ledger")
            try await withRunning(replica) {
                _ = try await second.send(.put("a", 1))
                let start = try await second.snapshot(.session)
                let commits = second.commits(after: start)
                for amount in 2...50 { _ = try await first.send(.put("a", amount)) }
                var amounts: [Double] = []
                for try await commit in commits {
                    #expect(commit.before.amounts["a"] == amounts.last ?? 1)
                    #expect(second.place >= commit.place)
                    amounts.append(commit.after.amounts["a"] ?? 0)
                    if amounts.last == 50 { break }
                }
                #expect(amounts == (2...50).map { Double($0) })
            }
        }
    }

    /// K7: the mode that shows every state begins with the current one and ends with the node.
    @Test func everyStateBeginsWithTheCurrentOne() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let watching: Task<[Int], any Error>
        do {
            let (began, signal) = AsyncStream.makeStream(of: Void.self)
            watching = Task {
                var counts: [Int] = []
                for try await step in store.states(every: .fail) {
                    #expect(step.missed == 0)
                    if counts.isEmpty { signal.finish() }
                    counts.append(step.state.count)
                }
                return counts
            }
            try await withRunning(node) {
                for await _ in began {}
                _ = try await store.send(contentsOf: (0..<500).map { Echo.Action("\($0)") })
                for await snapshot in store.states where snapshot.state.count == 500 { break }
                // Whoever is told of the last one has it before the node ends.
                for try await commit in store.commits(after: .init(state: [], place: .start, time: .zero))
                where commit.after.count == 500 { break }
            }
        }
        let counts = try await watching.value
        #expect(counts.first == 0 && counts == Array(0..<counts.count))
    }

    /// Guarantee 16: commits that are asked for before there is a state begin with the first that is shown, and what is
    /// in the log before that is none of them; where none is ever shown they end.
    @Test func commitsBeginWithTheFirstStateThatIsShown() async throws {
        let run = Run(Echo())
        for text in ["a", "b", "c"] { _ = try run.perform([Echo.Action(text)]) }
        let initial = Snapshot(state: [String](), place: .start, time: .zero)
        func commits(of published: PublishedState<[String]>) -> Commits<Echo> {
            Commits<Echo>(
                start: initial, unshown: published,
                batches: { [batches = run.batches] after in
                    stream(batches.filter { $0.head.last > after.sequence }, then: nil)
                }, waitUntilShown: { _ in })
        }
        let published = PublishedState(initial, isShown: false)
        published.ownerBegan()
        var following = commits(of: published).makeAsyncIterator()
        let place = Place(epoch: Epoch(rawValue: 3), sequence: SequenceNumber(rawValue: 2))
        published.publish(Snapshot(state: ["a", "b"], place: place, time: .zero))
        let first = try await following.next()
        #expect(first?.before == ["a", "b"] && first?.after == ["a", "b", "c"])
        #expect(try await following.next()?.after == nil)
        let never = PublishedState(initial, isShown: false)
        never.nodeEnded()
        var waiting = commits(of: never).makeAsyncIterator()
        #expect(try await waiting.next()?.after == nil)
    }

    /// Guarantee 15: the end of the node and of the task end a loop without an error, whatever it waits for then; and
    /// what readers were not shown is not handed out afterwards.
    @Test func theEndIsNoError() async throws {
        let run = Run(Echo())
        for text in ["a", "b"] { _ = try run.perform([Echo.Action(text)]) }
        let (batches, start) = (run.batches, Snapshot(state: [String](), place: .start, time: .zero))
        let ends: [any Error] = [LockstepError(.stopped, "gone"), CancellationError()]
        for end in ends {
            var shown = Commits<Echo>(
                start: start, batches: { _ in stream(batches, then: nil) }, waitUntilShown: { _ in throw end }
            ).makeAsyncIterator()
            for _ in 0..<2 { #expect(try await shown.next()?.after == nil) }
            var named = Commits<Echo>(
                start: start, batches: { _ in stream(batches, then: nil) }, names: { throw end },
                waitUntilShown: { _ in }
            ).makeAsyncIterator()
            #expect(try await named.next()?.after == nil)
            var entries = Entries<Echo>(batches: stream(batches, then: nil), after: .zero, names: { throw end })
                .makeAsyncIterator()
            #expect(try await entries.next()?.place == nil)
        }
        let late = LockstepError(.timeout, "late")
        var failing = Commits<Echo>(
            start: start, batches: { _ in stream(batches, then: nil) }, waitUntilShown: { _ in throw late }
        ).makeAsyncIterator()
        do {
            _ = try await failing.next()
            Issue.record("another error is thrown")
        } catch let error as LockstepError { #expect(error.code == .timeout) }
        #expect(try await failing.next()?.after == nil)
    }

    // MARK: - Overflow

    private func stream(
        _ batches: [SealedBatch], then error: LockstepError?
    ) -> AsyncThrowingStream<SealedBatch, any Error> {
        AsyncThrowingStream { continuation in
            for batch in batches { continuation.yield(batch) }
            continuation.finish(throwing: error)
        }
    }

    private let tooOld = LockstepError(.positionTooOld, "gone")

    /// K7: a consumer that is too slow fails by name, or jumps and is told how far.
    @Test func aSlowConsumerFailsOrJumps() async throws {
        let run = Run(Echo())
        for text in ["a", "b", "c", "d"] { _ = try run.perform([Echo.Action(text)]) }
        run.publish()
        let tooOld = tooOld
        let commits = Commits<Echo>(
            start: Snapshot(state: [], place: .start, time: .zero),
            batches: { [batches = run.batches] after in
                // The node has lost the second and the third entry when the consumer comes for them.
                after == .start ? stream([batches[0]], then: tooOld) : stream(Array(batches[3...]), then: nil)
            }, waitUntilShown: { _ in })
        var failing: [[String]] = []
        let error = await #expect(throws: LockstepError.self) {
            for try await step in EveryState(commits: commits, published: run.published, rule: .fail) {
                failing.append(step.state)
            }
        }
        #expect(error?.code == .positionTooOld && failing == [[], ["a"]])
        var steps = EveryState(commits: commits, published: run.published, rule: .jump).makeAsyncIterator()
        #expect(try await steps.next()?.state == [])
        #expect(try await steps.next()?.state == ["a"])
        let jumped = try await steps.next()
        #expect(jumped?.state == ["a", "b", "c", "d"] && jumped?.missed == 3)
    }

    /// K7: the state of a log that has replaced the one before is jumped to, although that log is shorter; the state of
    /// the old one, which readers see until there is another, is none to go on with.
    @Test func aJumpGoesOnInAShorterLog() async throws {
        let run = Run(Echo())
        for text in ["a", "b", "c"] { _ = try run.perform([Echo.Action(text)]) }
        let old = Snapshot(
            state: ["old"], place: Place(epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 1_000)),
            time: .zero)
        let new = Snapshot(
            state: ["a", "b"], place: Place(epoch: Epoch(rawValue: 3), sequence: SequenceNumber(rawValue: 2)),
            time: .zero)
        let published = PublishedState(old)
        published.ownerBegan()
        let tooOld = tooOld
        let commits = Commits<Echo>(
            start: old,
            batches: { [batches = run.batches] after in
                after == new.place ? stream([batches[2]], then: nil) : stream([], then: tooOld)
            }, waitUntilShown: { _ in })
        var steps = EveryState(commits: commits, published: published, rule: .jump).makeAsyncIterator()
        #expect(try await steps.next()?.state == ["old"])
        let replacing = Task {
            // Who waits for another state than the old one has asked for it.
            while !published.isWanted { try await Task.sleep(for: .milliseconds(1)) }
            published.publish(new)
            // Nothing comes after it, so that a jump that passes over it ends.
            published.ownerEnded()
        }
        let jumped = try await steps.next()
        #expect(jumped?.state == ["a", "b"] && jumped?.place == new.place && jumped?.missed == 0)
        let next = try await steps.next()
        #expect(next?.state == ["a", "b", "c"] && next?.missed == 0)
        try await replacing.value
    }

    /// Guarantee 11: nobody is told of a commit that readers do not see yet.
    @Test func readersSeeItFirst() async throws {
        let run = Run(Echo())
        _ = try run.perform([Echo.Action("a"), Echo.Action("b")])
        _ = try run.perform([Echo.Action("c")])
        let shown = Mutex<SequenceNumber>(.zero)
        let commits = Commits<Echo>(
            start: Snapshot(state: [], place: .start, time: .zero),
            batches: { [batches = run.batches] _ in stream(batches, then: nil) },
            waitUntilShown: { sequence in shown.withLock { $0 = max($0, sequence) } })
        var count = 0
        for try await commit in commits {
            count += 1
            #expect(shown.withLock { $0 } >= commit.place.sequence)
        }
        #expect(count == 3)
    }

    /// Batches of another history do not continue this one: a state made of both would be nobody's.
    @Test func anotherHistoryIsNoticed() async throws {
        let (one, other) = (Run(Echo()), Run(Echo()))
        for run in [one, other] {
            _ = try run.perform([Echo.Action(run === one ? "one" : "other")])
            _ = try run.perform([Echo.Action("next")])
        }
        let mixed = [one.batches[0], other.batches[1]]
        let commits = Commits<Echo>(
            start: Snapshot(state: [], place: .start, time: .zero), batches: { _ in stream(mixed, then: nil) },
            waitUntilShown: { _ in })
        var states: [[String]] = []
        let error = await #expect(throws: LockstepError.self) {
            for try await commit in commits { states.append(commit.after) }
        }
        #expect(error?.code == .positionTooOld && states == [["one"]])
    }
}

import Lockstep
import LockstepTesting
import Testing

/// Flows as structured concurrency (SEMANTICS C1 to C7, C9, C12).
@Suite(.timeLimit(.minutes(5))) struct FlowTests {
    let clock = VirtualClock()
    let tree = FlowTree()

    enum Ending: CaseIterable, Sendable {
        case value, failure, cancellation, dismissal, dismissalWithResult
    }

    /// SEMANTICS C3, C4: the child is freed on every way out, before its parent goes on, and nothing of it stays.
    @Test(arguments: Ending.allCases) func theChildIsFreedHoweverItEnds(ending: Ending) async {
        let weak = await clock.run { [clock, tree] in
            let token = Token()
            let weak = WeakToken(token: token)
            let child = TestFlow<Choice>(
                "child", resultOfDismissal: ending == .dismissalWithResult ? .cancel : nil, token: token
            ) { _ in
                switch ending {
                case .value: return .reload
                case .failure: throw Broken()
                case .cancellation, .dismissal, .dismissalWithResult: try await waitForCancellation()
                }
            }
            let parent = TestFlow<String>("parent") { scope in
                let outcome: String
                do {
                    outcome = "\(try await scope.coordinate(child, id: FlowID("child")))"
                } catch {
                    outcome = "\(type(of: error))"
                }
                #expect(scope.tree.running.map(\.name) == ["parent"])
                return outcome
            }
            let outcome = await withTaskGroup(of: String?.self) { group in
                group.addTask { try? await tree.run(parent) }
                await clock.settle()
                if ending == .cancellation { group.cancelAll() }
                if ending == .dismissal || ending == .dismissalWithResult { #expect(tree.dismiss(FlowID("child"))) }
                return await group.next() ?? nil
            }
            let expected: [Ending: String] = [
                .value: "reload", .failure: "Broken", .cancellation: "CancellationError", .dismissal: "FlowError",
                .dismissalWithResult: "cancel",
            ]
            #expect(outcome == expected[ending])
            return weak
        }
        #expect(tree.running.isEmpty)
        #expect(weak.token == nil)
    }

    /// SEMANTICS C2: children are in the tree while they run, with their parents and depths.
    @Test func theTreeShowsWhatRuns() async throws {
        let seen = try await clock.run { [tree] in
            try await tree.run(
                TestFlow<[RunningFlow]>("a") { scope in
                    try await scope.coordinate(
                        TestFlow<[RunningFlow]>("b") { scope in
                            try await scope.coordinate(TestFlow<[RunningFlow]>("c") { $0.tree.running })
                        }, id: FlowID("named"))
                })
        }
        #expect(seen.map(\.name) == ["a", "b", "c"])
        #expect(seen.map(\.depth) == [0, 1, 2])
        #expect(seen.map(\.id) == [FlowID("a-1"), FlowID("named"), FlowID("c-3")])
        #expect(seen.map(\.parent) == [nil, FlowID("a-1"), FlowID("named")])
        #expect(tree.running.isEmpty)
    }

    /// SEMANTICS C9: of several dismissals one counts, and what the flow returns after it does not.
    @Test func aDismissalCountsOnce() async throws {
        let outcome = try await clock.run { [clock, tree] in
            try await withThrowingTaskGroup(of: Choice.self) { group in
                let stubborn = TestFlow<Choice>("stubborn", resultOfDismissal: .cancel) { _ in
                    do { try await waitForCancellation() } catch { return .reload }
                }
                group.addTask { try await tree.run(stubborn, id: FlowID("it")) }
                await clock.settle()
                #expect((0..<3).map { _ in tree.dismiss(FlowID("it")) } == [true, false, false])
                return try await group.next()
            }
        }
        #expect(outcome == .cancel)
        #expect(!tree.dismiss(FlowID("it")))
    }

    /// SEMANTICS C9: a dismissal that was accepted counts, also if the flow returns before it is cancelled.
    @Test func anAcceptedDismissalCounts() async throws {
        let outcome = try await clock.run { [tree] in
            try await tree.run(
                TestFlow<Choice>("own", resultOfDismissal: .cancel) { scope in
                    #expect(scope.tree.dismiss(scope.id))
                    return .reload
                })
        }
        #expect(outcome == .cancel)
    }

    /// SEMANTICS C9: a flow that has come back can no longer be dismissed, although it is still in the tree while its
    /// launched children end.
    @Test func aFlowThatHasReturnedIsNotDismissed() async throws {
        let notes = Notes()
        let outcome = try await clock.run { [clock, tree] in
            try await tree.run(
                TestFlow<Choice>("parent", resultOfDismissal: .cancel) { scope in
                    try scope.launch(
                        TestFlow<Void>("slow") { scope in
                            do { try await waitForCancellation() } catch {
                                notes.add("dismissed: \(scope.tree.dismiss(FlowID("parent-1")))")
                            }
                        })
                    await clock.settle()
                    return .reload
                })
        }
        #expect(outcome == .reload)
        #expect(notes.all == ["dismissed: false"])
    }

    /// SEMANTICS C9: a flow that was cancelled and has not come back can be dismissed, and that counts.
    @Test(arguments: [false, true]) func aDismissalAfterACancellationCounts(hasResult: Bool) async {
        let outcome = await clock.run { [clock, tree] in
            let stubborn = TestFlow<Choice>("stubborn", resultOfDismissal: hasResult ? .cancel : nil) { scope in
                do { try await waitForCancellation() } catch {
                    // Nobody waits for a dismissal any longer.
                    await clock.settle()
                    #expect(scope.tree.dismiss(scope.id))
                    return .reload
                }
            }
            return await withTaskGroup(of: String.self) { group in
                group.addTask {
                    do { return "\(try await tree.run(stubborn))" } catch { return "\(type(of: error))" }
                }
                await clock.settle()
                group.cancelAll()
                return await group.next() ?? "nothing"
            }
        }
        #expect(outcome == (hasResult ? "cancel" : "FlowError"))
        #expect(tree.running.isEmpty)
    }

    /// SEMANTICS C9: dismissing a parent ends its children first, by cancellation.
    @Test func aDismissalReachesTheChildren() async {
        let notes = Notes()
        await clock.run { [clock, tree] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    let parent = TestFlow<Void>("parent") { scope in
                        defer { notes.add("parent ended") }
                        try await scope.coordinate(
                            TestFlow<Void>("child") { _ in
                                defer { notes.add("child ended") }
                                try await waitForCancellation()
                            })
                    }
                    do { try await tree.run(parent) } catch { notes.add("\(error as? FlowError == .dismissed)") }
                }
                await clock.settle()
                tree.dismiss(FlowID("parent-1"))
            }
        }
        #expect(notes.all == ["child ended", "parent ended", "true"])
    }

    /// SEMANTICS C6: a launched child runs beside its parent, is cancelled and awaited with it, and its failure is
    /// reported.
    @Test func aLaunchedChildEndsWithItsParent() async throws {
        let notes = Notes()
        let tree = FlowTree { flow, error in notes.add("\(flow.name): \(type(of: error))") }
        try await clock.run { [clock] in
            try await tree.run(
                TestFlow<Void>("parent") { scope in
                    try scope.launch(TestFlow<Int>("brief") { _ in 1 })
                    try scope.launch(TestFlow<Void>("broken") { _ in throw Broken() })
                    try scope.launch(
                        TestFlow<Void>("long") { _ in
                            defer { notes.add("long ended") }
                            try await waitForCancellation()
                        })
                    await clock.settle()
                    #expect(scope.tree.running.map(\.name) == ["parent", "long"])
                })
            notes.add("parent ended")
        }
        #expect(notes.all == ["broken: Broken", "long ended", "parent ended"])
        #expect(tree.running.isEmpty)
    }

    /// SEMANTICS C6: what is launched at the very end is freed, and a scope that has ended launches nothing.
    @Test func nothingIsLaunchedInAScopeThatHasEnded() async throws {
        let notes = Notes()
        let scope = try await clock.run { [tree] in
            try await tree.run(
                TestFlow<FlowScope>("parent") { scope in
                    try scope.launch(
                        TestFlow<Void>("late") { _ in
                            notes.add("late began")
                            try await waitForCancellation()
                        })
                    return scope
                })
        }
        #expect(tree.running.isEmpty)
        #expect(throws: FlowError.scopeEnded) { try scope.launch(TestFlow<Void>("later") { _ in }) }
        #expect(tree.running.isEmpty)
    }

    /// Names are unique among what runs, and the tree has a bound.
    @Test func namesAndRoomAreChecked() async throws {
        let tree = FlowTree(limit: 2)
        try await clock.run {
            try await tree.run(
                TestFlow<Void>("parent") { scope in
                    let id = FlowID("only")
                    let child = TestFlow<Void>("child") { scope in
                        await #expect(throws: FlowError.tooManyFlows(limit: 2)) {
                            try await scope.coordinate(TestFlow<Void>("third") { _ in })
                        }
                    }
                    try await scope.coordinate(child, id: id)
                    try await scope.coordinate(child, id: id)
                    await #expect(throws: FlowError.alreadyRunning(scope.id)) {
                        try await scope.coordinate(child, id: scope.id)
                    }
                })
        }
    }
}

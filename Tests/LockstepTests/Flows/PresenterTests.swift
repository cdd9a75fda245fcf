import Lockstep
import LockstepTesting
import Testing

/// Routes and who shows them (SEMANTICS C9 to C11).
@Suite(.timeLimit(.minutes(5))) struct PresenterTests {
    let clock = VirtualClock()
    let tree = FlowTree()
    let routes = LocalRoutes<String>()

    /// Notes what it is told; each call takes a second.
    struct Noting: Presenter {
        let clock: VirtualClock
        let notes = Notes()

        func present(_ route: FlowRoute<String>) async {
            notes.add("+\(route.id)=\(route.route)")
            try? await clock.sleep(for: .seconds(1))
        }

        func dismiss(_ id: FlowID) async {
            notes.add("-\(id)")
            try? await clock.sleep(for: .seconds(1))
        }
    }

    private func route(_ id: String, parent: String? = nil) -> FlowRoute<String> {
        FlowRoute(id: FlowID(id), parent: parent.map { FlowID($0) }, route: "screen")
    }

    /// Routes that come before a presenter is ready are kept in order; what went in between is never shown.
    @Test func routesWaitForAPresenter() async throws {
        let presenter = Noting(clock: clock)
        try routes.present(route("a"))
        try routes.present(route("gone"))
        try routes.present(route("b"))
        routes.dismiss(FlowID("gone"))
        await clock.run { [clock, routes] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await show(routes.stacks, on: presenter) }
                try? await clock.sleep(for: .seconds(5))
                routes.dismiss(FlowID("a"))
                try? await clock.sleep(for: .seconds(5))
                group.cancelAll()
            }
        }
        #expect(presenter.notes.all == ["+a=screen", "+b=screen", "-a"])
    }

    /// What finds no room is refused by name, and nothing is lost silently.
    @Test func aRouteWithoutRoomIsRefused() throws {
        for number in 0..<FlowStack<String>.limit { try routes.present(route("\(number)")) }
        #expect(throws: FlowError.tooManyRoutes(limit: 256)) { try routes.present(route("more")) }
        #expect(throws: FlowError.alreadyPresented(FlowID("7"))) { try routes.present(route("7")) }
        #expect(throws: FlowError.parentMissing(FlowID("z"))) { try routes.present(route("more", parent: "z")) }
        #expect(routes.stack.routes.count == 256)
    }

    /// A presenter that comes later, or again, is shown everything that is wanted then.
    @Test func aNewPresenterIsShownEverything() async throws {
        try routes.present(route("a"))
        try routes.present(route("b"))
        for _ in 0..<2 {
            let presenter = Noting(clock: clock)
            await clock.run { [clock, routes] in
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await show(routes.stacks, on: presenter) }
                    try? await clock.sleep(for: .seconds(5))
                    group.cancelAll()
                }
            }
            #expect(presenter.notes.all == ["+a=screen", "+b=screen"])
        }
    }

    /// SEMANTICS C10: a flow's route goes with the flow, however it ends, and once.
    @Test(arguments: [true, false]) func aFlowTakesItsRouteWithIt(isDismissed: Bool) async {
        let presenter = Noting(clock: clock)
        await clock.run { [clock, tree, routes] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await show(routes.stacks, on: presenter) }
                let parent = TestFlow<Void>("list") { scope in
                    try await scope.presenting("list", in: routes) {
                        let edit = TestFlow<Choice>("edit", resultOfDismissal: .cancel) { scope in
                            try await scope.presenting("edit", in: routes) {
                                try await clock.sleep(for: .seconds(10))
                                return .reload
                            }
                        }
                        let choice = try await scope.coordinate(edit)
                        #expect(choice == (isDismissed ? .cancel : .reload))
                        #expect(routes.stack.routes.map(\.route) == ["list"])
                    }
                }
                group.addTask { try? await tree.run(parent, id: FlowID("list")) }
                try? await clock.sleep(for: .seconds(4))
                #expect(routes.stack.routes.map(\.parent) == [nil, FlowID("list")])
                // The user closes the screen; the presenter says so.
                if isDismissed { #expect(tree.dismiss(FlowID("edit-2"))) }
                try? await clock.sleep(for: .seconds(20))
                group.cancelAll()
            }
        }
        #expect(presenter.notes.all == ["+list=list", "+edit-2=edit", "-edit-2", "-list"])
        #expect(routes.stack.routes.isEmpty)
    }

    /// A replicated stack is followed as a local one is: stacks from any sequence, the difference of each.
    @Test func aSequenceOfStacksIsFollowed() async {
        var stacks: [FlowStack<String>] = []
        var stack = FlowStack<String>()
        stack.push(route("a"))
        stacks.append(stack)
        stack.push(route("b", parent: "a"))
        stacks.append(stack)
        stack.replace(FlowID("b"), with: "other")
        stacks.append(stack)
        stack.remove(FlowID("a"))
        stacks.append(stack)
        let presenter = Noting(clock: clock)
        await clock.run { [clock, stacks] in
            await show(QuietScript(clock, values: stacks.map { (0, $0) }, endAt: 9), on: presenter)
        }
        #expect(presenter.notes.all == ["+a=screen", "+b=screen", "-b", "+b=other", "-b", "-a"])
    }
}

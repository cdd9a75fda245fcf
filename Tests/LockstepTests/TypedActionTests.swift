import Lockstep
import LockstepNode
import Testing

/// An action that promises the type of its reply, and a query that promises that of its answer: no switch over what
/// cannot come, and one clear error where it comes all the same.
@Suite(.timeLimit(.minutes(5))) struct TypedActionTests {
    private func withShelf(_ body: @escaping @Sendable (Store<Shelf>) async throws -> Void) async throws {
        let node = try Node(.local())
        let shelf = try node.store(Shelf(), named: "shelf")
        try await withRunning(node) { try await body(shelf) }
    }

    /// The typed form of a name is the one that is sent; the others are sent as ever.
    @Test func aReplyHasThePromisedType() async throws {
        try await withShelf { shelf in
            let put = try await shelf.send(.put("pear", 3))
            #expect(put.reply == .done)
            let taken: Receipt<Int> = try await shelf.send(.take("pear"))
            #expect(taken.reply == 2 && taken.number == put.number + 1 && taken.place > put.place)
            #expect(try await shelf.send(.take("pear"), timeout: .seconds(5)).reply == 1)
            #expect(try await shelf.send(.count).reply == .left(1))
            let plain: Receipt<Shelf.Reply> = try await shelf.send(Shelf.Action.take("pear"))
            #expect(plain.reply == .left(0))
            let rejected = await #expect(throws: LockstepError.self) { try await shelf.send(.take("pear")) }
            #expect(rejected?.code == .rejected && rejected?.message == "there is no pear left")
            let answer: Answered<Int> = try await shelf.ask(.amount("pear"), .linearizable)
            #expect(answer.answer == 0 && answer.place >= plain.place)
            #expect(try await shelf.ask(.names).answer == .names(["pear"]))
        }
    }

    /// Of several actions each has its outcome; those of different types are sent as plain ones.
    @Test func severalActionsHaveTheirOutcomes() async throws {
        try await withShelf { shelf in
            let mixed = try await shelf.send(contentsOf: [.put("pear", 1), .count])
            #expect(try mixed.replies() == [.done, .left(1)])
            let outcomes: [Outcome<Int>] = try await shelf.send(contentsOf: [.take("pear"), .take("pear")])
            #expect(try outcomes[0].get().reply == 0)
            guard case .rejected(let reason, _) = outcomes[1] else { return unexpected() }
            #expect(reason == "there is no pear left")
            let misread = try await shelf.send(contentsOf: [TypedAction.puttingWithCount("fig")])
            guard case .unreadable = misread[0] else { return unexpected() }
            #expect(try await shelf.read { $0.amounts["fig"] } == 1, "it took effect all the same")
        }
    }

    /// What a handle tells is read in the same way.
    @Test func theOutcomeOfAHandleIsRead() async throws {
        try await withShelf { shelf in
            _ = try await shelf.send(.put("pear", 1))
            let take = TypedAction<Shelf, Int>.take("pear")
            let outcome = take.outcome(try await shelf.submit(take.action).finished())
            #expect(try outcome.get().reply == 0)
        }
    }

    /// A reply or an answer of another case says which reactor is of another version, and what to do.
    @Test func whatWasNotPromisedIsOneClearError() async throws {
        try await withShelf { shelf in
            let reply = await #expect(throws: LockstepError.self) { try await shelf.send(.puttingWithCount("fig")) }
            #expect(reply?.code == .unreadable)
            #expect(reply?.message.contains("took effect at") == true)
            #expect(reply?.message.contains("primary's Shelf is of another version; update") == true)
            let figs = try await shelf.read { $0.amounts["fig"] }
            #expect(figs == 1)
            let answer = await #expect(throws: LockstepError.self) { try await shelf.ask(.numberOfNames) }
            #expect(answer?.code == .refused)
            #expect(answer?.message.contains("Shelf of the node that was asked is of another version") == true)
        }
    }

    /// The same over the network, where the state is another process's; the context of an answer is the state's.
    @Test func aClientHasThemToo() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let shelf = try primary.store(Shelf(), named: "shelf")
        try await withRunning(primary) {
            let client = try Node(.client(of: await primary.listening()))
            let remote = try client.remote(Shelf.self, named: "shelf")
            try await withRunning(client) {
                _ = try await shelf.send(.put("pear", 2))
                #expect(try await remote.send(.take("pear")).reply == 1)
                #expect(try await remote.ask(.amount("pear")).answer == 1)
                let error = await #expect(throws: LockstepError.self) { try await remote.ask(.numberOfNames) }
                #expect(error?.code == .refused)
                let now = try await remote.ask(.whereAndWhen)
                #expect(now.answer == .place(now.place, now.time) && now.place > .start && now.time > .zero)
            }
        }
    }

    /// Bytes are those of the plain action.
    @Test func nothingOfItIsOnTheWire() throws {
        let typed = try Shelf.actionCoding.encoded(TypedAction<Shelf, Int>.take("a").action)
        #expect(typed == (try Shelf.actionCoding.encoded(.take("a"))))
    }
}

/// What a query is answered with besides the state.
@Suite(.timeLimit(.minutes(5))) struct AnswerContextTests {
    /// It implements neither form.
    private struct Silent: Reactor {
        enum Query: Codable, Sendable { case anything }
        var initialState: Int { 0 }
        static func reduce(into state: inout Int, _ number: Int, _ context: ReduceContext) { state += number }
    }

    /// The place and the time are those of the state that answers.
    @Test func anAnswerKnowsItsPlaceAndTime() async throws {
        let node = try Node(.local())
        let shelf = try node.store(Shelf(), named: "shelf")
        try await withRunning(node) {
            let put = try await shelf.send(.put("pear", 2))
            let answer = try await shelf.ask(.whereAndWhen)
            #expect(answer.answer == .place(answer.place, answer.time))
            #expect(answer.place >= put.place && answer.time > .zero)
        }
    }

    /// A reactor with the older form is asked without a word; one with neither refuses.
    @Test func theOlderFormIsTheDefault() async throws {
        let context = AnswerContext(place: .start, time: .zero)
        #expect(try Ledger.answer(.amount("a"), in: Ledger().initialState, context) == "0.0")
        let node = try Node(.local())
        let silent = try node.store(Silent(), named: "silent")
        try await withRunning(node) {
            let error = await #expect(throws: LockstepError.self) { try await silent.ask(.anything) }
            #expect(error?.code == .refused && error?.message.contains("Silent answers no queries") == true)
        }
    }
}

import Lockstep
import LockstepTesting
import Testing

/// Goal: what uses a store can be tested without a node: it sees what the test pushes, the test sees what it sends, and
/// everything that can happen to a sender can be made to happen (SEMANTICS K34).
@Suite(.timeLimit(.minutes(5))) struct StubStoreTests {
    private func stub(_ answer: StubStore<Votes>.Answer = .reply(1)) -> StubStore<Votes> {
        StubStore(state: Votes.State()) { _ in answer }
    }

    @Test func whatIsSentIsRecordedAndNothingRuns() async throws {
        let stub = StubStore<Votes>(state: Votes.State()) { action in
            switch action {
            case .vote(let name): name.isEmpty ? .rejected("nobody was named") : .reply(7)
            }
        }
        let receipt = try await stub.send(.vote("Ada"))
        #expect(receipt.reply == 7)
        #expect(stub.actions.count == 1)
        #expect(stub.state.votes.isEmpty)
        let error = await #expect(throws: LockstepError.self) { try await stub.send(.vote("")) }
        #expect(error?.code == .rejected && error?.message == "nobody was named")
    }

    @Test func severalOutcomesKeepTheirOrder() async throws {
        let stub = StubStore<Votes>(state: Votes.State()) { action in
            switch action {
            case .vote(let name): name.isEmpty ? .rejected("no") : .reply(name.count)
            }
        }
        let outcomes = Array(try await stub.send(contentsOf: [.vote("a"), .vote(""), .vote("abc")]))
        #expect(try outcomes[0].get().reply == 1)
        #expect(outcomes[1] == .rejected(reason: "no", place: stub.place))
        #expect(try outcomes[2].get().reply == 3)
    }

    /// States are seen in order; a push further on, or of a later epoch, is a gap that was caught up with.
    @Test func whatIsPushedIsSeen() async throws {
        let stub = stub()
        var states = stub.states.makeAsyncIterator()
        #expect(await states.next()?.place.sequence.rawValue == 1)
        stub.push { $0.votes["Ada"] = 1 }
        #expect(await states.next()?.place.sequence.rawValue == 2)
        let far = Place(epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 90))
        stub.push(Votes.State(votes: ["Ada": 9]), at: far)
        let seen = try #require(await states.next())
        #expect(seen.place == far && seen.state.votes["Ada"] == 9)
        #expect(stub.state.votes["Ada"] == 9)
        #expect(try await stub.ask(.count("Ada")).answer == 9)
        var counts = stub.select { $0.votes["Ada"] }.makeAsyncIterator()
        #expect(await counts.next() == 9)
        stub.push { $0.votes["Grace"] = 1 }
        stub.push { $0.votes["Ada"] = 10 }
        #expect(await counts.next() == 10)
    }

    @Test func anActionCanWaitForItsAnswer() async throws {
        let stub = stub(.wait)
        let sent = try stub.submit(.vote("Ada"))
        stub.answer(0, with: .reply(3))
        #expect(try await sent.finished().get().reply == 3)
    }

    @Test func anAcceptedActionEndsWhenTheTestSaysSo() async throws {
        let stub = stub(.accepted)
        let sent = try stub.submit(.vote("Ada"))
        guard case .accepted(let run, _) = try await sent.accepted() else {
            Issue.record("it was not accepted")
            return
        }
        await sent.cancel()
        #expect(stub.cancelled == [0])
        stub.end(0, with: .cancelled)
        #expect(try await sent.finished() == .cancelled(emissions: 0, place: stub.place))
        #expect(try await stub.end(of: run) == .cancelled(emissions: 0, place: stub.place))
        let other = try stub.submit(.vote("Grace"))
        stub.end(1, with: .failed("no luck"))
        #expect(try await other.finished() == .failed(reason: "no luck", emissions: 0, place: stub.place))
    }

    @Test func whatIsSentWhileDisconnectedWaits() async throws {
        let stub = stub()
        stub.disconnect()
        async let receipt = stub.send(.vote("Ada"))
        let sent = try stub.submit(.vote("Grace"))
        stub.reconnect()
        #expect(try await sent.finished().get().reply == 1)
        #expect(try await receipt.reply == 1)
    }

    @Test func anAnswerCanBeLostOrComeTooLate() async throws {
        let lost = await #expect(throws: LockstepError.self) { try await stub(.unknown).send(.vote("Ada")) }
        #expect(lost?.code == .outcomeUnknown && lost?.pending?.numbers == 1...1)
        let late = await #expect(throws: LockstepError.self) { try await stub(.timeout).send(.vote("Ada")) }
        #expect(late?.code == .timeout)
    }

    @Test func aStubThatStopsEndsEverything() async throws {
        let stub = stub(.wait)
        let sent = try stub.submit(.vote("Ada"))
        var states = stub.states.makeAsyncIterator()
        _ = await states.next()
        stub.stop()
        #expect(await states.next() == nil)
        await #expect(throws: LockstepError.self) { try await sent.accepted() }
        let error = await #expect(throws: LockstepError.self) { try await stub.send(.vote("Ada")) }
        #expect(error?.code == .stopped)
    }

    @Test func aSenderThatIsCancelledLeaves() async throws {
        let stub = stub(.wait)
        let task = Task { try await stub.send(.vote("Ada")) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aReactorWithoutRepliesNeedsNoAnswers() async throws {
        let stub = StubStore<Search>(state: Search.State())
        _ = try await stub.send(.search("a"))
        #expect(stub.actions.count == 1)
    }
}

import Lockstep
import LockstepCore
import LockstepNode
import Testing

/// What a reactor, its senders and its observers see of names (PROTOCOL ).
@Suite struct SenderTests {
    /// Replies with the name of the sender.
    private struct Register: Reactor {
        enum Action: Codable, Sendable {
            case sign
            case note(String)
            case pair(Int, other: Int)
            case labelled(text: String)
        }

        enum Mutation: Codable, Sendable { case signed(String) }
        struct State: Codable, Sendable { var names: [String] = [] }

        let initialState = State()

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            .emit(.signed(context.sender ?? "nobody"), reply: context.sender ?? "nobody")
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            guard case .signed(let name) = mutation else { return }
            state.names.append(name)
        }

        typealias Reply = String
    }

    private struct Single: Codable, Sendable { var count = 1 }

    private struct Plain: Reactor {
        typealias Action = Single
        struct State: Codable, Sendable {}
        let initialState = State()
        static func reduce(into state: inout State, _ mutation: Single, _ context: ReduceContext) {}
    }

    /// Ledger's own kinds are finer than its cases.
    private struct Named: Reactor {
        enum Action: Codable, Sendable { case move(Int) }
        struct State: Codable, Sendable {}
        let initialState = State()
        static func kind(of action: Action) -> String {
            switch action {
            case .move(let amount): amount > 100 ? "moveMuch" : "move"
            }
        }
        static func reduce(into state: inout State, _ mutation: Action, _ context: ReduceContext) {}
    }

    /// The kind is the name of the case, with or without values; of a struct its type's name; or what the reactor says.
    @Test func theKindIsTheCase() {
        #expect(Register.kind(of: .sign) == "sign")
        #expect(Register.kind(of: .note("x")) == "note")
        #expect(Register.kind(of: .pair(1, other: 2)) == "pair")
        #expect(Register.kind(of: .labelled(text: "x")) == "labelled")
        #expect(Plain.kind(of: Single()) == "Single")
        #expect(Named.kind(of: .move(101)) == "moveMuch")
    }

    /// The reactor sees who sent an action; without keys nobody is named.
    @Test func theReactorSeesTheSender() throws {
        let (named, unnamed) = (Run(Register()), Run(Register()))
        named.sender = "web-1"
        #expect(try named.perform([.sign]).map { try $0.get().reply } == ["web-1"])
        #expect(try unnamed.perform([.sign]).map { try $0.get().reply } == ["nobody"])
        let context = Register.Context(
            state: Register.State(), time: .zero, session: SessionID.none, request: 1, sender: "test")
        #expect(context.sender == "test")
    }

    /// An action of a kind that its sender may not send is denied with the name and the kind, and without effect; the others
    /// of its batch take effect, and bytes that are no action are rejected as ever.
    @Test func aKindIsDeniedInsideABatch() throws {
        let run = Run(Register())
        (run.sender, run.kinds) = ("web-1", ["sign", "pair"])
        let actions: [Register.Action] = [.sign, .note("x"), .pair(1, other: 2), .labelled(text: "y"), .sign]
        var bytes = try actions.map { try Register.actionCoding.encoded($0) }
        bytes.insert([1, 2, 3], at: 2)
        let outcomes = run.perform(encoded: bytes)
        var words: [String] = []
        for outcome in outcomes {
            switch outcome {
            case .committed(let receipt): words.append(receipt.reply)
            case .denied(let reason, _): words.append(reason)
            case .rejected: words.append("rejected")
            default: words.append("\(outcome)")
            }
        }
        let denied: (String) -> String = { "the access list allows web-1 no action of kind \($0)" }
        #expect(words == ["web-1", denied("note"), "rejected", "web-1", denied("labelled"), "web-1"])
        #expect(run.state.workingState.names == ["web-1", "web-1", "web-1"])
        #expect { try outcomes[1].get() } throws: { ($0 as? LockstepError)?.code == .denied }
    }

    /// More than is decoded ahead at once, with every second one denied.
    @Test func aLongBatchIsLookedAtActionByAction() throws {
        let run = Run(Register())
        (run.sender, run.kinds) = ("web-1", ["sign"])
        let outcomes = try run.perform((0..<500).map { $0 % 2 == 0 ? .sign : .note("x") })
        #expect(
            outcomes.enumerated().allSatisfy { index, outcome in
                if case .denied = outcome { index % 2 == 1 } else { index % 2 == 0 }
            })
        #expect(run.state.workingState.names.count == 250)
    }

    /// An observer's entries name who sent the action, from the opening of its session to its end.
    @Test func entriesNameTheirSenders() throws {
        let epoch = Epoch(rawValue: 3)
        var batch = BatchBuilder(
            store: StoreID(rawValue: 9), epoch: epoch, after: .start(of: StoreID(rawValue: 9)), time: .zero)
        let open = Open(
            client: ClientKey(rawValue: 1), nonce: 1, timeToLive: 60_000_000, windowNumbers: 8, windowBytes: 1 << 14)
        let session = SessionID(epoch: epoch, sequence: batch.append(.sessionOpen(open, sender: "web-1")))
        let earlier = SessionID(epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 1))
        for (id, number) in [(session, 1), (earlier, 1)] as [(SessionID, RequestNumber)] {
            batch.beginSeries(session: id, first: number, ackedThrough: 0)
            batch.appendItem(.rejected, reason: "no")
            batch.appendDenied("not allowed")
            _ = batch.endSeries()
        }
        batch.append(.sessionClose(session))
        var names = SenderNames([earlier: "web-2"])
        let entries = try LoggedEntry<Register>.entries(
            of: batch.sealed(), after: .zero, Register.mutationCoding, &names)
        #expect(entries.map(\.sender) == ["web-1", "web-1", "web-2", "web-2"])
        #expect(entries.map(\.rejection) == ["no", "not allowed", "no", "not allowed"])
        #expect(names == SenderNames([earlier: "web-2"]))
    }
}

import Lockstep
import LockstepCore
import LockstepNode
import Testing

/// Effects that are made of parts, some of which fail.
private struct Parts: Reactor {
    enum Action: Codable, Sendable, Hashable {
        case retried, recovered, merged, mergedAtOnce, mergedCancelling, first(String), held, endless, unwritable, stop
        case late, lateParts, endLate
    }

    /// It travels as JSON, which has no infinity.
    struct Mutation: Codable, Sendable, ExpressibleByIntegerLiteral {
        var value: Double
        init(value: Double) { self.value = value }
        init(integerLiteral value: Int) { self.value = Double(value) }
    }

    typealias State = [Double]
    typealias Reply = Int

    struct Failure: Error {}

    let stage: Stage
    var feeds: [ExternalSource<Self>] = []
    var initialState: State { [] }
    var sources: [ExternalSource<Self>] { feeds }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        let stage = stage
        switch action {
        case .retried:
            return .run { emit in
                stage.note("attempt")
                emit.atEnd(1)
                guard stage.trace.count > 2 else { throw Failure() }
                return 0
            }
            .retry(RetryPolicy(attempts: 3, backoff: .constant(.zero)))
        case .recovered:
            return .run { emit in
                emit.atEnd(1)
                throw Failure()
            }
            .recover { _, emit in
                emit.atEnd(2)
                return 0
            }
        case .merged:
            return .merge(
                .run { emit in
                    try await stage.pass("second is done")
                    emit.atEnd(1)
                    return 1
                },
                .run { emit in
                    emit.atEnd(2)
                    stage.open("second is done")
                    return 2
                })
        case .mergedAtOnce: return .merge(.emit(1, reply: 1), .emit([2, 3], reply: 2), .emit(4, reply: 4))
        case .mergedCancelling:
            return .merge(.emit(1, reply: 1), .emit([2, 3], reply: 2).cancelling("endless"), .emit(4, reply: 4))
        case .first(let door): return .concat(waiting(door).policy(.first("first")), .emit(1, reply: 0))
        case .held:
            return .concat(waiting("held").cancelled { $0 == .stop }, .emit(1, reply: 0))
        case .endless: return waiting("endless").cancellable("endless")
        case .unwritable: return .emit(Mutation(value: .infinity), reply: 0).cancelling("endless")
        case .stop: return .emit(9, reply: 0)
        case .late:
            return Effect<Self>.emit(1, reply: 0)
                .policy(.first("late"))
                .cancellable("late")
                .cancelled { $0 == .stop }
                .startAfter { try await stage.pass("late") }
        case .lateParts:
            let parts = Effect<Self>.concat(.emit(1, reply: 0).cancellable("late"), .emit(2, reply: 0))
            return parts.policy(.first("late")).cancelled { $0 == .stop }
                .startAfter { try await stage.pass("late") }
        case .endLate: return .none(reply: 0).cancelling("late")
        }
    }

    private func waiting(_ door: String) -> Effect<Self> {
        let stage = stage
        return .run { _ in
            try await stage.pass(door)
            return 0
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        state.append(mutation.value)
    }
}

/// Ends at once, whatever its effects are given.
private struct AtOnce: Reactor {
    typealias Action = Int
    typealias Reply = Int
    let hasPlan: Bool
    var initialState: [Int] { [] }

    func mutate(_ action: Int, _ context: Context) throws -> Effect<Self> {
        let effect = Effect<Self>.emit(action, reply: action)
        guard hasPlan else { return effect }
        let name = EffectID(String(repeating: "x", count: 300))
        let parts = Effect<Self>.merge(effect, Effect<Self>.none(reply: 0).cancellable(name))
        return parts.policy(.latest(name)).cancellable(name).cancelled { _ in true }
    }

    static func reduce(into state: inout [Int], _ mutation: Int, _ context: ReduceContext) {
        state.append(mutation)
    }
}

/// What parts keep for the end, and who ends whom (SEMANTICS O3, O5, O29, O38, K25).
@Suite(.timeLimit(.minutes(5))) struct EffectPartsTests {
    private func withParts(
        _ parts: Parts, _ body: @escaping @Sendable (Store<Parts>, Stage) async throws -> Void
    ) async throws {
        let node = try Node(.local())
        let store = try node.store(parts, named: "parts")
        try await withRunning(node) { try await body(store, parts.stage) }
    }

    /// O38: what a failed attempt kept for the end is not committed with the attempt that comes to it.
    @Test func whatAFailedAttemptKeptIsDropped() async throws {
        try await withParts(Parts(stage: Stage())) { store, _ in
            _ = try await store.send(.retried)
            let state = try await store.read { $0 }
            #expect(state == [1])
        }
    }

    /// O3: the handler's end takes the place of the failed one.
    @Test func whatAFailedEffectKeptIsNotRecovered() async throws {
        try await withParts(Parts(stage: Stage())) { store, _ in
            _ = try await store.send(.recovered)
            let state = try await store.read { $0 }
            #expect(state == [2])
        }
    }

    /// O29: what the parts keep is one entry with the end, in the order of the parts.
    @Test func partsSideBySideKeepInTheirOrder() async throws {
        try await withParts(Parts(stage: Stage())) { store, _ in
            let receipt = try await store.send(.merged)
            let state = try await store.read { $0 }
            #expect(receipt.reply == 1 && state == [1, 2])
        }
    }

    /// O29: parts that end at once are one entry, in the order of the parts, with the reply of the first.
    @Test(arguments: [false, true])
    func partsThatEndAtOnceKeepTheirOrder(isCancelling: Bool) async throws {
        try await withParts(Parts(stage: Stage())) { store, _ in
            let action: Parts.Action = isCancelling ? .mergedCancelling : .mergedAtOnce
            let receipt = try await store.send(action)
            let state = try await store.read { $0 }
            #expect(receipt.reply == 1 && state == [1, 2, 3, 4])
        }
    }

    /// A policy belongs to the whole effect; that of a part does not count.
    @Test func aPolicyOfAPartDoesNotCount() async throws {
        try await withParts(Parts(stage: Stage())) { store, stage in
            let one = try store.submit(.first("one"))
            await stage.noted("at one")
            let two = try store.submit(.first("two"))
            guard case .accepted = try await two.accepted() else { return unexpected() }
            stage.open("one")
            stage.open("two")
            for submitted in [one, two] {
                guard case .committed = try await submitted.finished() else { return unexpected() }
            }
        }
    }

    /// O12, O13, K25: what an effect that would end at once is given holds when a later modifier lets it go on.
    @Test(arguments: [false, true])
    func aPlanHoldsForWhatFollowsIt(hasParts: Bool) async throws {
        try await withParts(Parts(stage: Stage())) { store, stage in
            let action: Parts.Action = hasParts ? .lateParts : .late
            let first = try store.submit(action)
            await stage.noted("at late")
            guard case .rejected = try await store.submit(action).accepted() else { return unexpected() }
            _ = try await store.send(.endLate)
            guard case .cancelled = try await first.finished() else { return unexpected() }
            let second = try store.submit(action)
            await stage.noted("at late", count: 2)
            _ = try await store.send(.stop)
            guard case .cancelled = try await second.finished() else { return unexpected() }
            let state = try await store.read { $0 }
            #expect(state == [9])
        }
    }

    /// PROTOCOL R-14: an effect that ends at once is in the log as if it had been given nothing, names without a bound
    /// included: no run, and no end of its series.
    @Test func aPlanAloneChangesNothing() throws {
        let runs = [Run(AtOnce(hasPlan: false)), Run(AtOnce(hasPlan: true))]
        for run in runs { _ = try run.perform([1, 2, 3]) }
        #expect(runs[0].batches.count == 1)
        #expect(runs[0].batches.map(\.bytes) == runs[1].batches.map(\.bytes))
    }

    /// K25, O5: an action that ends a part ends the whole.
    @Test func anActionThatEndsAPartEndsTheWhole() async throws {
        try await withParts(Parts(stage: Stage())) { store, stage in
            let held = try store.submit(.held)
            await stage.noted("at held")
            _ = try await store.send(.stop)
            guard case .cancelled = try await held.finished() else { return unexpected() }
            let state = try await store.read { $0 }
            #expect(state == [9])
        }
    }

    /// PROTOCOL R-63: an action that is refused, here because it cannot be written, cancels nothing.
    @Test func aRefusedActionCancelsNothing() async throws {
        try await withParts(Parts(stage: Stage())) { store, stage in
            let endless = try store.submit(.endless)
            await stage.noted("at endless")
            let error = await #expect(throws: LockstepError.self) { try await store.send(.unwritable) }
            #expect(error?.code == .rejected)
            stage.open("endless")
            guard case .committed = try await endless.finished() else { return unexpected() }
        }
    }

    /// PROTOCOL R-64: an end that can never come is not waited for.
    @Test func anEndThatCannotComeIsNotWaitedFor() async throws {
        try await withParts(Parts(stage: Stage())) { store, _ in
            let receipt = try await store.send(.stop)
            for run in [
                RunID(session: receipt.session, number: receipt.number),
                RunID(session: receipt.session, number: receipt.number + 7),
                RunID(session: SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1)), number: 1),
            ] {
                let error = await #expect(throws: LockstepError.self) { try await store.end(of: run) }
                #expect(error?.code == .sessionEnded)
            }
        }
    }

    /// Guarantee 15: a source that waits for another store of its node does not hold up the node's end.
    @Test func aSourceThatWaitsHoldsNothingUp() async throws {
        let stage = Stage()
        let node = try Node(.local())
        let other = try node.store(Parts(stage: stage), named: "other")
        var parts = Parts(stage: stage)
        parts.feeds = [
            ExternalSource("follow") { emit in
                stage.note("following")
                for try await entry in other.entries(after: .zero) { try await emit(contentsOf: entry.mutations) }
            }
        ]
        let following = try node.store(parts, named: "parts")
        try await withRunning(node) {
            _ = try await other.send(.stop)
            for await snapshot in following.states where snapshot.state == [9] { break }
        }
        #expect(stage.trace.contains("following"))
    }
}

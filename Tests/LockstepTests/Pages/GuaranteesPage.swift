import Lockstep
import Testing

/// The code of Guarantees.md.
@Suite(.timeLimit(.minutes(5))) struct GuaranteesPage {
    func add<R: Reactor>(_ action: R.Action, to store: Store<R>) async throws -> Outcome<R.Reply> {
        do {
            return .committed(try await store.send(action))
        } catch let error as LockstepError {
            guard let pending = error.pending else { throw error }  // every other code says what is known
            while true {
                do {
                    for outcome in try await store.outcomes(of: pending) { return outcome }
                } catch let error as LockstepError where error.code == .timeout {
                    continue
                }
            }
        }
    }

    @Test func anOutcomeThatIsKnownNeedsNoQuestion() async throws {
        let node = try Node(.local())
        let votes = try node.store(LockstepPage.Votes(), named: "votes")
        try await withRunning(node) {
            guard case .committed = try await add("Ada", to: votes) else { return unexpected() }
        }
    }
}

import Lockstep
import Testing

/// The code of Lockstep.md.
@Suite(.timeLimit(.minutes(5))) struct LockstepPage {
    struct Votes: Reactor {
        struct State: Codable, Sendable { var votes: ReplicatedMap<String, Int> = [:] }

        var initialState: State { State() }

        /// An action is a name, and the mutation too.
        static func reduce(into state: inout State, _ name: String, _ context: ReduceContext) {
            state.votes[name, default: 0] += 1
        }
    }

    func vote() async throws -> Int {
        let node = try Node(.local())
        let votes = try node.store(Votes(), named: "votes")
        return try await node.whileRunning {
            let receipt = try await votes.send("Ada")
            print("entry \(receipt.place)")
            return try await votes.read { $0.votes["Ada", default: 0] }
        }
    }

    @Test func theSmallestProgramRuns() async throws { #expect(try await vote() == 1) }
}

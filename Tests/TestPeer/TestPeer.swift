import Counters
import Foundation
import Lockstep
import LockstepNode
import Logging

/// A node with a planted defect, as a process of its own: a replica whose reducer is not deterministic.
///
///     TestPeer PRIMARY NODE ADMINISTRATION-FOLDER
@main
struct TestPeer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let name = NodeID(arguments[2]) else {
            FileHandle.standardError.write(Data("usage: TestPeer PRIMARY NODE ADMINISTRATION-FOLDER\n".utf8))
            exit(64)
        }
        var configuration = NodeConfiguration.replica(of: arguments[1])
        configuration.node = name
        configuration.administrationFolder = arguments[3]
        var logger = Logger(label: "peer") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .debug
        let node = try Node(configuration, logger: logger)
        _ = try node.store(SkewedCounters(), named: "counters")
        try await node.run()
    }
}

/// Counters whose reducer throws a coin: what a user must never write.
struct SkewedCounters: Reactor {
    typealias Action = Counters.Action
    typealias Mutation = Counters.Mutation
    typealias State = Counters.State
    typealias Reply = Counters.Reply
    typealias Query = Counters.Query
    typealias Answer = Counters.Answer

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        throw Rejection("a replica performs nothing")
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        Counters.reduce(into: &state, mutation, context)
        if UInt8.random(in: 0..<64) == 0 { state.values["skewed"] = Int64.random(in: 0..<Int64.max) }
    }

    static func answer(_ query: Query, in state: State) throws -> Answer { try Counters.answer(query, in: state) }
}

import Counters
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode
import Logging

/// Nodes for the integration tests, as a process of their own.
///
///     TestPeer PRIMARY NODE ADMINISTRATION-FOLDER     a replica with a planted defect: its reducer throws a coin
///     TestPeer join PRIMARY COUNT                     joins as often with a new replica, prints what each showed first
///     TestPeer errands FOLDER ENDPOINT                a primary whose actions have effects, with its journal in FOLDER
@main
struct TestPeer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == "join", let count = Int(arguments[3]) {
            for _ in 0..<count { try await join(arguments[2]) }
            return
        }
        if arguments.count == 4, arguments[1] == "errands" {
            return try await Errands.serve(folder: arguments[2], endpoint: arguments[3])
        }
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

extension TestPeer {
    /// Joins, waits for a linearizable read, prints the place and the digest of the state that is shown then.
    private static func join(_ primary: String) async throws {
        let node = try Node(.replica(of: primary))
        let counters = try node.store(Counters(), named: "counters")
        let snapshot = try await node.whileRunning { try await counters.snapshot(.linearizable, timeout: .seconds(30)) }
        print(snapshot.place.sequence, StateDigest.digest(of: snapshot.state))
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

package import Lockstep
import LockstepNode
import LockstepSQLite

/// Actions whose effects take a while, to be killed in the middle: each begins with an emission that a later attempt
/// repeats, and ends with one that is committed with the end.
package struct Errands: Reactor {
    package struct Action: Codable, Sendable {
        package var errand: UInt64
        package var milliseconds: Int

        package init(errand: UInt64, milliseconds: Int) {
            self.errand = errand
            self.milliseconds = milliseconds
        }
    }

    package enum Mutation: Codable, Sendable {
        case begun(UInt64)
        case done(UInt64)
    }

    /// How often each errand began, and was done.
    package struct State: Codable, Sendable {
        package var begun: ReplicatedMap<UInt64, Int> = [:]
        package var done: ReplicatedMap<UInt64, Int> = [:]
    }

    package enum Query: Codable, Sendable { case totals }

    package struct Totals: Codable, Hashable, Sendable {
        package var errands = 0
        package var begun = 0
        package var done = 0
        package var doneTwice = 0
    }

    package typealias Answer = Totals
    /// The attempt that came to the end.
    package typealias Reply = Int

    package init() {}
    package var initialState: State { State() }

    package func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        .run { emit in
            try await emit(.begun(action.errand))
            try await emit.sleep(for: .milliseconds(action.milliseconds))
            emit.atEnd(.done(action.errand))
            return emit.attempt
        }
    }

    package static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .begun(let errand): state.begun[errand, default: 0] += 1
        case .done(let errand): state.done[errand, default: 0] += 1
        }
    }

    package static func answer(_ query: Query, in state: State) throws -> Totals {
        state.begun.sorted().reduce(into: Totals()) { totals, entry in
            let done = state.done[entry.key] ?? 0
            totals.errands += 1
            totals.begun += entry.value
            totals.done += done
            totals.doneTwice += done > 1 ? 1 : 0
        }
    }

    /// Runs a primary until the process ends.
    package static func serve(folder: String, endpoint: String) async throws {
        let node = try Node(.primary(listen: endpoint, journal: .sqlite(at: folder, create: true)))
        _ = try node.store(Errands(), named: "errands")
        try await node.run()
    }
}

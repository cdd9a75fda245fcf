import Lockstep
import LockstepTesting
import Testing

/// A reducer that is no function of its arguments is found by the cluster: the checks are checked.
@Suite(.timeLimit(.minutes(5))) struct BrokenPromiseTests {
    private func promise<N: Notes>(_ reactor: N) throws -> BrokenPromise {
        let cluster = TestCluster(reactor, replicas: 2, seed: 5)
        let error = #expect(throws: TestClusterError.self) {
            for text in ["a", "b", "c", "d", "e", "f", "g", "h"] { try cluster.send(text) }
            try cluster.settle()
        }
        guard case .broken(let promise)? = error else { throw try #require(error) }
        #expect(cluster.failure == promise)
        #expect(throws: TestClusterError.broken(promise)) { try cluster.run(for: .seconds(1)) }
        return promise
    }

    @Test func aRandomNumberIsFound() throws {
        let promise = try promise(RandomNotes())
        #expect(promise.promise == "digest")
        #expect(promise.text.contains("digest"))
        #expect(promise.entry?.contains("c") == true)
        #expect(promise.differences.map(\.path) == ["notes[2]"])
        #expect(promise.repetition.contains("TestCluster(RandomNotes(), replicas: 2, clients: 1, seed: 5)"))
        let owners = promise.differences[0].values.map(\.owner)
        #expect(owners.first == "primary")
        #expect(owners.count > 1)
        #expect(owners.last == "the log, replayed")
        #expect(promise.description.contains("notes[2]"))
    }

    @Test func aClockIsFound() throws {
        #expect(try promise(ClockNotes()).differences.first?.path == "notes[0]")
    }

    @Test func aGlobalVariableIsFound() throws {
        #expect(try promise(GlobalNotes()).promise == "digest")
    }

    @Test func theOrderOfASetIsFound() throws {
        let promise = try promise(SetOrderNotes())
        #expect(promise.differences.allSatisfy { $0.path.hasPrefix("notes[") })
        #expect(!promise.differences.isEmpty)
    }

    private struct Restless: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        var initialState: [Int] { [Int.random(in: 0..<1_000_000_000)] }
        static func reduce(into state: inout [Int], _ mutation: Int, _ context: ReduceContext) {
            state.append(mutation)
        }
    }

    /// The state before the first entry must be the same on all nodes.
    @Test func anInitialStateThatDiffersIsFound() throws {
        let cluster = TestCluster(Restless())
        let error = #expect(throws: TestClusterError.self) {
            try cluster.send(1)
            try cluster.settle()
        }
        guard case .broken(let promise)? = error else { throw try #require(error) }
        #expect(promise.differences.map(\.path) == ["[0]"])
    }

    @Test func aReducerThatIsRightPasses() throws {
        let cluster = TestCluster(RightNotes(), replicas: 2)
        for text in ["a", "b", "c"] { try cluster.send(text) }
        try cluster.settle()
        #expect(cluster.failure == nil)
    }
}

import Counters
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode
import Synchronization

/// A value that one task tells another.
final class Told<Value: Sendable>: Sendable {
    private let kept: Mutex<Value>
    init(_ value: Value) { kept = Mutex(value) }
    var value: Value {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}

extension KeyedClient {
    func run(at index: Int = 0, _ words: String...) throws -> (status: Int32, output: String, errors: String) {
        try run(at: index, words)
    }

    func run(at index: Int = 0, _ words: [String]) throws -> (status: Int32, output: String, errors: String) {
        try ChildProcess.run(Bench.program, words + ["--node", cluster.endpoint(index)] + self.words)
    }

    /// Counts as fast as it is answered, until it is told that it is over; every action must be acknowledged.
    ///
    /// - Parameters:
    ///   - configuration: The client's.
    ///   - begun: Told after the first acknowledgement.
    ///   - over: Tells that it is over.
    /// - Returns: How many actions were acknowledged.
    /// - Throws: What an action failed with.
    static func count(
        _ configuration: NodeConfiguration, begun: Told<Bool>, over: Told<Bool>
    ) async throws -> Int64 {
        let node = try Node(configuration, logger: Bench.quiet)
        let counters = try node.remote(Counters.self, named: "counters")
        return try await node.whileRunning {
            var count: Int64 = 0
            while !over.value {
                _ = try await counters.send(.add("load", by: 1), timeout: .seconds(40))
                count += 1
                begun.value = true
            }
            return count
        }
    }

    /// How many actions a second are answered, of a client that sends 64 at a time.
    func rate(for duration: Duration) async throws -> Double {
        let node = try Node(try configuration(0), logger: Bench.quiet)
        let counters = try node.remote(Counters.self, named: "counters")
        return try await node.whileRunning {
            try await Bench.add(64, to: counters, prefix: "rate/")
            let begin = ContinuousClock.now
            var count = 0
            repeat {
                try await Bench.add(64, to: counters, prefix: "rate/")
                count += 64
            } while ContinuousClock.now < begin + duration
            return Double(count) / (begin.duration(to: .now) / .seconds(1))
        }
    }
}

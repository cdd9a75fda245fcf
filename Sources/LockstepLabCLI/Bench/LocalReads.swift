import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P8.
    static let localReads = BenchCase(name: "p8", title: LocalReads.title) { try await LocalReads(setting: $0).run() }
}

/// P8: a read of one key on a replica in this process, beside a look-up in a dictionary of the same keys.
struct LocalReads {
    static let title = "a local read of one key on a replica's published view, beside a plain Dictionary"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// Of one round.
    private struct Round {
        /// In the mean, in nanoseconds.
        var store = 0.0
        var dictionary = 0.0
        /// The slowest of many, each measured by itself, in microseconds.
        var longestStore = 0.0
        var longestDictionary = 0.0
    }

    func run() async throws -> BenchResult {
        let (quiet, written, writes) = try await measure()
        let text = "\(sizes.counters) counters"
        let figures = [
            BenchFigure(
                "\(text), no writes", quiet.map(\.store), "ns a read",
                peer: ("Dictionary", quiet.map(\.dictionary)), goal: .ratioAtMost(2.5)),
            BenchFigure(
                "\(text), writes running", written.map(\.store), "ns a read",
                peer: ("Dictionary", written.map(\.dictionary)), goal: .ratioAtMost(2.5)),
            BenchFigure(
                "the longest of \(reads) reads, no writes", quiet.map(\.longestStore), "us",
                peer: ("Dictionary", quiet.map(\.longestDictionary))),
            BenchFigure(
                "the longest of \(reads) reads, writes running", written.map(\.longestStore), "us",
                peer: ("Dictionary", written.map(\.longestDictionary))),
            BenchFigure("writes that ran meanwhile", [writes], "increments/s"),
        ]
        var result = BenchResult(
            ("p8", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "the primary's journal is synced before each answer",
                    replicas: "1, in the process that reads",
                    load: "`store.state.values[name]` of random names on one thread; "
                        + "writes: 1,024 in flight, from a client in the same process",
                    checked: "that every read finds its key; the sum of all counters"),
                BenchResult.Participant(
                    name: "Dictionary", durability: "none", replicas: "none",
                    load: "`dictionary[name]` of the same names on the same thread, in turns", checked: "as above"),
            ])
        result.notes.append(
            "the longest read is one that the scheduler took the core from, on either side: compare the two columns")
        return result
    }

    private var reads: Int { sizes.actions / 4 }

    private func measure() async throws -> (quiet: [Round], written: [Round], writesPerSecond: Double) {
        try await BenchCluster.with(setting, replicas: 0) { cluster in
            // A replica needs no address of its own; the cluster has none that this process could take.
            let node = try Node(.replica(of: cluster.endpoint(0)), logger: Program.quiet)
            let store = try node.store(Counters(), named: Hosted.counters)
            return try await node.whileRunning {
                try await store.whenReady()
                let fill = try await Load(
                    increments: store, tasks: 16, chunk: 256, counters: sizes.counters, isSequential: true
                ).send(sizes.counters)
                let sum = try await store.read(.linearizable) { $0.values.total { $1 } }
                guard Int64(exactly: sum) == Int64(fill.actions) else {
                    throw CommandFailure("the replica lacks increments")
                }
                let quiet = try rounds(store)
                let load = Load(increments: store, tasks: 4, chunk: 256, counters: sizes.counters)
                let (report, written) = try await load.whileRunning { try rounds(store) }
                try await store.checkSum(fill.actions + report.actions)
                try Self.compare(try await store.snapshot(.linearizable).state, keys: sizes.counters)
                return (quiet, written, report.perSecond)
            }
        }
    }

    /// Every key is there, and no other.
    private static func compare(_ state: Counters.State, keys: Int) throws {
        guard state.values.count == keys, CounterNames.make(keys).allSatisfy({ state.values[$0] != nil }) else {
            throw CommandFailure("the view does not hold the keys")
        }
    }

    private func rounds(_ store: Store<Counters>) throws -> [Round] {
        let names = CounterNames.make(sizes.counters)
        let dictionary = Dictionary(uniqueKeysWithValues: names.map { ($0, Int64(1)) })
        var generator = SplitGenerator(seed: 1)
        let order = (0..<reads).map { _ in generator.next(below: names.count) }
        let count = sizes.rounds
        return try onThreads(1) { _ in
            try (0..<count).map { _ in
                var round = Round()
                (round.store, round.longestStore) = try Self.time(names, order) { store.state.values[$0] }
                (round.dictionary, round.longestDictionary) = try Self.time(names, order) { dictionary[$0] }
                return round
            }
        }.flatMap(\.self)
    }

    /// The mean time of a read in nanoseconds, and the longest of as many in microseconds.
    @inline(__always)
    private static func time(
        _ names: [String], _ order: [Int], _ read: (String) -> Int64?
    ) throws -> (mean: Double, longest: Double) {
        let clock = ContinuousClock()
        var found = 0
        let start = clock.now
        for index in order where read(names[index]) != nil { found += 1 }
        let mean = start.duration(to: clock.now) / .nanoseconds(1) / Double(order.count)
        guard found == order.count else { throw CommandFailure("\(order.count - found) keys were not there") }
        var longest = Duration.zero
        for index in order {
            let start = clock.now
            if read(names[index]) != nil { found += 1 }
            longest = max(longest, start.duration(to: clock.now))
        }
        guard found == 2 * order.count else { throw CommandFailure("keys were not there") }
        return (mean, longest / .microseconds(1))
    }
}

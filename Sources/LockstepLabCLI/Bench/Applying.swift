import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P3.
    static let applying = BenchCase(name: "p3", title: Applying.title) { try await Applying(setting: $0).run() }
}

/// P3: a replica is stopped, the primary commits what its broadcast queue holds, the replica goes on.
struct Applying {
    static let title = "a replica applies the stream that waits for it"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }

    /// What is sent while the replica stands still.
    private struct Workload<R: Reactor>: Sendable {
        let reactor: R.Type
        let store: String
        let command: NodeCommand
        let mutations: Int
        let action: @Sendable (Int) -> R.Action
        /// Throws if the final values are not those of so many actions.
        let check: @Sendable (RemoteStore<R>, Int) async throws -> Void
    }

    private var fast: Workload<Counters> {
        let names = CounterNames.make(sizes.counters)
        // The queue takes 1,024 frames of 48 KiB, and the primary closes a connection that takes nothing for 5 s.
        return Workload(
            reactor: Counters.self, store: Hosted.counters, command: .serve, mutations: sizes.actions / 2,
            action: { .add(names[$0], by: 1) }, check: { try await $0.checkSum($1) })
    }

    /// Increments a second on the fast path; with encrypted links if the nodes are to have keys.
    func increments(keys: Bool) async throws -> Double { try await measure(fast, keys: keys).rate }

    func run() async throws -> BenchResult {
        let names = CounterNames.make(sizes.counters)
        let json = plain(sizes.actions / 10) {
            .add(names[$0], 1)
        } check: {
            $0.sum == $1
        }
        let (short, long) = (String(repeating: "v", count: 100), String(repeating: "v", count: 1_000))
        let shortTexts = plain(sizes.actions / 20) {
            .put(names[$0], short)
        } check: { totals, _ in
            totals.textBytes == names.count * 100
        }
        let longTexts = plain(sizes.actions / 80) {
            .put(names[$0], long)
        } check: { totals, _ in
            totals.textBytes == names.count * 1_000
        }
        var repairs = 0
        func rounds<R: Reactor>(_ workload: Workload<R>, _ what: String, goal: BenchGoal?) async throws -> BenchFigure {
            var rates: [Double] = []
            for round in 1...sizes.rounds {
                setting.say("P3: \(what), round \(round) of \(sizes.rounds)")
                let (rate, repaired) = try await measure(workload)
                rates.append(rate)
                repairs += repaired
            }
            return BenchFigure(what, rates, "mutations/s", goal: goal)
        }
        let figures = [
            try await rounds(fast, "increments on the fast path (WireCodable)", goal: .atLeast(1_500_000)),
            try await rounds(json, "increments as JSON (plain Codable)", goal: .atLeast(100_000)),
            try await rounds(shortTexts, "texts of 100 bytes as JSON", goal: nil),
            try await rounds(longTexts, "texts of 1,000 bytes as JSON", goal: nil),
        ]
        var result = BenchResult(
            ("p3", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "primary and replica have a journal", replicas: "1",
                    load: "SIGSTOP, arrays of 256 of 65,536 in flight, SIGCONT; the clock runs from SIGCONT until the "
                        + "replica's sequence number is the primary's",
                    checked: "the sum of all counters, or the bytes of all texts; the digests of primary and replica")
            ])
        result.notes.append("holes that the replica had to repair, in all rounds: \(repairs)")
        return result
    }

    private func plain(
        _ mutations: Int, action: @escaping @Sendable (Int) -> PlainCounters.Action,
        check: @escaping @Sendable (PlainCounters.Totals, Int) -> Bool
    ) -> Workload<PlainCounters> {
        Workload(
            reactor: PlainCounters.self, store: PlainCounters.storeName, command: .benchNode("--plain"),
            mutations: mutations, action: action
        ) { store, actions in
            guard check(try await store.ask(.totals, .linearizable).answer, actions) else {
                throw CommandFailure("the values are not those that were sent")
            }
        }
    }

    /// Mutations a second, and how many repairs it took.
    private func measure<R: Reactor>(
        _ workload: Workload<R>, keys: Bool = false
    ) async throws -> (rate: Double, repairs: Int) {
        try await BenchCluster.with(setting, replicas: 1, start: false, keys: keys) { cluster in
            try cluster.startAll(workload.command)
            try await cluster.waitUntilReady()
            let node = try Node(try await cluster.client(), logger: Program.quiet)
            let store = try node.remote(R.self, named: workload.store)
            return try await node.whileRunning {
                // All keys are there before, so that every round changes values.
                let fill = try await load(store, workload, isSequential: true).send(sizes.counters)
                _ = try await cluster.waitUntilEqual(workload.store)
                let before = try await cluster.status(1, of: workload.store)
                cluster.child(1)?.send(SIGSTOP)
                let report = try await load(store, workload, isSequential: false).send(workload.mutations)
                let target = try await cluster.status(0, of: workload.store).commit
                let start = ContinuousClock.now
                cluster.child(1)?.send(SIGCONT)
                try await cluster.wait(for: 1, store: workload.store) { $0.sequence >= target }
                let seconds = start.duration(to: .now) / .seconds(1)
                _ = try await cluster.waitUntilEqual(workload.store)
                try await workload.check(store, fill.actions + report.actions)
                let after = try await cluster.status(1, of: workload.store)
                let repairs = ["repairs", "joins"].map { (after.counters[$0] ?? 0) - (before.counters[$0] ?? 0) }
                return (Double(report.actions) / seconds, Int(repairs.reduce(0, +)))
            }
        }
    }

    private func load<R: Reactor>(
        _ store: RemoteStore<R>, _ workload: Workload<R>, isSequential: Bool
    ) -> Load<RemoteStore<R>> {
        Load(
            target: store, tasks: 256, chunk: 256, keys: sizes.counters, isSequential: isSequential,
            action: workload.action)
    }
}

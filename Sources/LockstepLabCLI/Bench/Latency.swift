import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCase {
    /// P2.
    static let latency = BenchCase(name: "p2", title: Latency.title) { try await Latency(setting: $0).run() }
}

/// P2: one client with one action in flight, beside what the machine itself charges, and beside Redis.
struct Latency {
    static let title = "one client, one durable action in flight"

    let setting: BenchSetting

    func run() async throws -> BenchResult {
        setting.say("P2: this machine's append and wake-up")
        let append = try MachineCosts.append(folder: setting.folder)
        let wakeUp = try MachineCosts.wakeUp()
        setting.say("P2: lockstep")
        let own = try await lockstep()
        setting.say("P2: redis")
        let peer = try setting.redis?.withServers(setting, replicas: 1) {
            try $0.increments(own.count, connections: 1, pipeline: 1, keys: setting.sizes.counters)
        }
        // What P2 allows: one durable append and twelve wake-ups.
        let allowed = append + 12 * wakeUp
        let figures = [
            BenchFigure(
                "p50", [own.quantile(0.5)], "us", peer: peer.map { ("redis", [$0.p50]) }, goal: .atMost(allowed)),
            BenchFigure("p99", [own.quantile(0.99)], "us", peer: peer.map { ("redis", [$0.p99]) }),
            BenchFigure("append and fdatasync of 4 KiB on this disk, p50", [append], "us"),
            BenchFigure("wake-up of a thread on another core, p50", [wakeUp], "us"),
        ]
        var settings = [
            BenchResult.Participant(
                name: "lockstep", durability: "synced before each answer (SQLite, WAL, synchronous FULL)",
                replicas: "1 with a journal of its own, follows", load: "one task, one action in flight, one counter",
                checked: "the counter's value")
        ]
        if setting.redis != nil {
            settings.append(
                BenchResult.Participant(
                    name: "redis", durability: "synced before each answer (appendonly yes, appendfsync always)",
                    replicas: "1 with a file of its own, follows", load: "redis-benchmark -c 1 -P 1",
                    checked: "the sum of all counters, on primary and replica"))
        }
        var result = BenchResult(("p2", Self.title), figures, settings)
        result.notes.append("the goal is an append and twelve wake-ups of this machine, measured in the same run")
        return result
    }

    /// The latencies of single actions, in microseconds; with encrypted links if the nodes are to have keys.
    func lockstep(keys: Bool = false) async throws -> [Double] {
        try await BenchCluster.with(setting, replicas: 1, keys: keys) { cluster in
            try await Program.withRemoteCounters(try await cluster.client()) { counters in
                let actions = setting.sizes.actions / 500
                var microseconds: [Double] = []
                for round in 0..<actions {
                    let start = ContinuousClock.now
                    _ = try await counters.send(.add("counter:1", by: 1))
                    if round >= actions / 4 { microseconds.append(start.duration(to: .now) / .microseconds(1)) }
                }
                try await counters.checkSum(actions)
                return microseconds
            }
        }
    }
}

/// What the machine itself charges.
enum MachineCosts {
    /// The median of 4 KiB appended and synced, in microseconds.
    static func append(folder: String) throws -> Double { try append(to: folder + "/append") }

    /// The same, while another file beside it is appended to and synced all the time, too.
    static func appendBeside(folder: String) throws -> Double {
        try onThreads(2) { try append(to: folder + "/append-\($0)") }.reduce(0, +) / 2
    }

    private static func append(to path: String) throws -> Double {
        let descriptor = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o600)
        guard descriptor >= 0 else { throw CommandFailure("\(path) cannot be written") }
        defer {
            close(descriptor)
            unlink(path)
        }
        let block = [UInt8](repeating: 7, count: 4_096)
        let samples = (0..<500).map { _ in
            let start = ContinuousClock.now
            _ = block.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            fdatasync(descriptor)
            return start.duration(to: .now) / .microseconds(1)
        }
        return samples.median
    }

    /// The median time, in microseconds, from ringing to running of a thread that sleeps.
    static func wakeUp() throws -> Double {
        let there = DispatchSemaphore(value: 0)
        let back = DispatchSemaphore(value: 0)
        let rounds = 2_000
        // On two cores, as the threads of a client and a primary are: on one, the scheduler needs no interrupt.
        let thread = Thread {
            pin(to: 1)
            for _ in 0..<rounds {
                there.wait()
                back.signal()
            }
        }
        thread.start()
        // On a thread of its own, which may be pinned.
        return try onThreads(1) { _ in
            pin(to: 0)
            return (0..<rounds).map { _ in
                // A moment apart, so that both threads sleep, as they do between single actions.
                usleep(200)
                let start = ContinuousClock.now
                there.signal()
                back.wait()
                return start.duration(to: .now) / .microseconds(1) / 2
            }.median
        }.median
    }

    /// Keeps the calling thread on one core; on a machine without that core it stays where it is.
    private static func pin(to core: Int) {
        // The C library declares it for GNU sources only, so it is looked up by its name.
        guard let symbol = dlsym(nil, "sched_setaffinity") else { return }
        let setAffinity = unsafeBitCast(
            symbol, to: (@convention(c) (Int32, Int, UnsafeRawPointer) -> Int32).self)
        let mask: [UInt64] = [1 << UInt64(core)]
        _ = mask.withUnsafeBytes { bytes in bytes.baseAddress.map { setAffinity(0, bytes.count, $0) } }
    }
}

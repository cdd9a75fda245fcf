import Counters
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode

/// P2: one client with one action in flight.
struct Latency {
    let folder: String
    let port: Int
    let redis: RedisPeer?

    func run() async throws -> LatencyReport {
        Output.progress("P2: this machine's append and wake-up")
        let append = try MachineCosts.append(folder: folder)
        let wakeUp = MachineCosts.wakeUp()
        Output.progress("P2: lockstep")
        let own = try await measure()
        Output.progress("P2: redis")
        let peer = try redis?.latency(folder: folder + "/redis-p2", port: port + 20)
        Output.progress("")
        return LatencyReport(
            lockstepP50: own.quantile(0.5), lockstepP99: own.quantile(0.99), append: append, wakeUp: wakeUp,
            redisP50: peer)
    }

    private func measure() async throws -> [Double] {
        let path = folder + "/p2"
        let cluster = try ProcessCluster(folder: path, port: port, replicas: 1)
        defer {
            cluster.endAll(signal: SIGKILL)
            try? FileManager.default.removeItem(atPath: path)  // A left-over is removed with the folder above it.
        }
        try cluster.startAll()
        try await cluster.waitUntilReady()
        return try await Program.withRemoteCounters(NodeConfiguration.client(of: cluster.endpoint(0))) { counters in
            var microseconds: [Double] = []
            for round in 0..<4_000 {
                let start = ContinuousClock.now
                _ = try await counters.send(.add("one", by: 1))
                if round >= 1_000 { microseconds.append(start.duration(to: .now) / .microseconds(1)) }
            }
            return microseconds
        }
    }
}

/// The figures of P2, in microseconds.
struct LatencyReport: Encodable {
    var lockstepP50: Double
    var lockstepP99: Double
    var append: Double
    var wakeUp: Double
    var redisP50: Double?

    /// What P2 allows: one durable append and twelve wake-ups.
    var allowed: Double { append + 12 * wakeUp }

    var text: String {
        var text = String(
            format:
                "P2 one in flight: lockstep p50 %.0f us, p99 %.0f us; append and fdatasync of 4 KiB %.0f us, wake-up "
                + "%.1f us, so %.0f us allowed", lockstepP50, lockstepP99, append, wakeUp, allowed)
        if let redisP50 { text += String(format: "; redis p50 %.0f us", redisP50) }
        return text
    }
}

/// What the machine itself charges.
enum MachineCosts {
    /// The median of 4 KiB appended and synced, in microseconds.
    static func append(folder: String) throws -> Double {
        let path = folder + "/append"
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
    static func wakeUp() -> Double {
        let there = DispatchSemaphore(value: 0)
        let back = DispatchSemaphore(value: 0)
        let rounds = 2_000
        let thread = Thread {
            for _ in 0..<rounds {
                there.wait()
                back.signal()
            }
        }
        thread.start()
        let samples = (0..<rounds).map { _ in
            // A moment apart, so that both threads sleep, as they do between single actions.
            usleep(200)
            let start = ContinuousClock.now
            there.signal()
            back.wait()
            return start.duration(to: .now) / .microseconds(1) / 2
        }
        return samples.median
    }
}

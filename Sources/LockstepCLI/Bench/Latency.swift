import Counters
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode
import Synchronization

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
        // On two cores, as the threads of a client and a primary are: on one, the scheduler needs no interrupt.
        let thread = Thread {
            pin(to: 1)
            for _ in 0..<rounds {
                there.wait()
                back.signal()
            }
        }
        thread.start()
        return onThread {
            pin(to: 0)
            return (0..<rounds).map { _ in
                // A moment apart, so that both threads sleep, as they do between single actions.
                usleep(200)
                let start = ContinuousClock.now
                there.signal()
                back.wait()
                return start.duration(to: .now) / .microseconds(1) / 2
            }.median
        }
    }

    /// Runs a measurement on a thread of its own, which may be pinned, and waits for it.
    private static func onThread(_ body: @escaping @Sendable () -> Double) -> Double {
        let done = DispatchSemaphore(value: 0)
        let result = Mutex(0.0)
        Thread {
            let value = body()
            result.withLock { $0 = value }
            done.signal()
        }.start()
        done.wait()
        return result.withLock { $0 }
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

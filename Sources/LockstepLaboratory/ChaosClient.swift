import Foundation
import Lockstep
import LockstepCore
package import LockstepNode
import Logging
import Synchronization

/// One client process of a run: workers that each have a session of their own, and a history of all that they do.
package final class ChaosClient: Sendable {
    /// What a client does, and for how long.
    package struct Settings: Sendable {
        package var workload = ChaosWorkload.increments
        /// The primary, or all data nodes.
        package var nodes: [String] = []
        package var replicas: [String] = []
        package var workers = 8
        /// Operations a second of all workers together; 0: as fast as answers come.
        package var rate = 200.0
        /// Whether operations are sent when they are due, and not only when the one before was answered; of the stream.
        package var isOpen = false
        package var duration = Duration.seconds(10)
        package var timeout = Duration.seconds(1)
        package var seed: UInt64 = 1
        /// Of a hundred writes without an answer so many are not asked about again.
        package var abandoned: UInt64 = 20
        /// By which keys all nodes of the client connect; nil: in plain text.
        package var keys: NodeKeys?

        /// Makes settings; a node must be named.
        package init() {}
    }

    private let settings: Settings
    private let history: HistoryWriter
    private let stopped = Atomic<Bool>(false)
    private let counts = Mutex(Counts())

    /// How many operations ended in which way.
    package struct Counts: Encodable, Sendable {
        package var answered = 0
        package var failed = 0
        package var unknown = 0
    }

    /// Takes settings, and the history to write.
    package init(_ settings: Settings, history: HistoryWriter) {
        self.settings = settings
        self.history = history
    }

    /// Tells the workers to come to an end, as if the time had passed.
    package func stop() { stopped.store(true, ordering: .relaxed) }

    /// Works until the time has passed or ``stop()``, then reads what was written last.
    package func run() async throws -> Counts {
        var nodes: [(node: Node, endpoint: String)] = []
        let written = settings.nodes.joined(separator: ",")
        for _ in 0..<settings.workers { nodes.append((try makeNode(settings.nodes), written)) }
        for replica in settings.replicas { nodes.append((try makeNode([replica]), replica)) }
        let stations = try nodes.map { try ObjectStation($0.node, at: $0.endpoint) }
        let all = nodes.map(\.node)
        let replicas = Array(stations.dropFirst(settings.workers))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for node in all { group.addTask { try await node.run() } }
            try await withThrowingTaskGroup(of: Void.self) { workers in
                for worker in 0..<settings.workers {
                    let own = stations[worker]
                    workers.addTask { try await self.work(worker, [own] + replicas) }
                }
                try await workers.waitForAll()
            }
            group.cancelAll()
            // They were told to stop; how they ended changes nothing in the history.
            while (try? await group.next()) != nil {}
        }
        return counts.withLock { $0 }
    }

    private func makeNode(_ endpoints: [String]) throws -> Node {
        var configuration = NodeConfiguration.client(of: endpoints)
        configuration.keys = settings.keys
        configuration.allowsPlaintext = settings.keys == nil
        configuration.sessionTimeToLive = .seconds(3_600)
        var logger = Logger(label: "lockstep") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return try Node(configuration, logger: logger)
    }

    // MARK: - A worker

    private func work(_ worker: Int, _ stations: [ObjectStation]) async throws {
        var generator = CallGenerator(settings.workload, worker: worker, seed: settings.seed)
        if settings.workload == .stream { return try await stream(worker, &generator, stations[0]) }
        let interval = settings.rate > 0 ? Duration.seconds(Double(settings.workers) / settings.rate) : .zero
        let end = ContinuousClock.now + settings.duration
        var next = ContinuousClock.now
        var last: [String] = []
        // What the worker was acknowledged: a read of its session must not be behind it, whichever node it asks.
        var acknowledged: Place?
        while !stopped.load(ordering: .relaxed), ContinuousClock.now < end {
            let call = generator.next()
            try await perform(worker, call, &generator, stations, &acknowledged)
            if call.isKept, !last.contains(call.key) { last = last.suffix(15) + [call.key] }
            next += interval
            // After an outage nobody makes up for what was not asked in it.
            next = max(next, ContinuousClock.now - .milliseconds(200))
            if next > ContinuousClock.now { try await Task.sleep(until: next, clock: .continuous) }
        }
        for key in last {
            // A read fails while a node comes back; the last ones must be answered, or nobody knows how it ended.
            var attempts = 10
            while attempts > 0, try await !read(worker, key, "linearizable", stations[0], nil) { attempts -= 1 }
        }
    }

    private func perform(
        _ worker: Int, _ call: ObjectCall, _ generator: inout CallGenerator, _ stations: [ObjectStation],
        _ acknowledged: inout Place?
    ) async throws {
        if call.action == .read {
            let (node, consistency) = generator.reading(nodes: stations.count)
            let place = consistency == "session" ? acknowledged : nil
            _ = try await read(worker, call.key, consistency, stations[node], place)
            return
        }
        let isAbandoned = generator.chance(settings.abandoned)
        let place = try await write(worker, call, stations[0], isAbandoned: isAbandoned)
        guard settings.workload == .sessions, let place else { return }
        let newest = max(place, acknowledged ?? place)
        acknowledged = newest
        for station in stations.dropFirst() { _ = try await read(worker, call.key, "session", station, newest) }
    }

    private func write(
        _ worker: Int, _ call: ObjectCall, _ station: ObjectStation, isAbandoned: Bool
    ) async throws -> Place? {
        let operation = try begin(worker, call, station.node)
        var result = await station.write(call, timeout: settings.timeout)
        try end(operation, result)
        guard case .unknown(let pending?, _) = result, !isAbandoned else { return Self.place(of: result) }
        // Somebody who wants to know goes on asking; after half a minute the log will tell.
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline, case .unknown = result {
            result = await station.outcome(of: pending, call, timeout: .seconds(2))
            if case .unknown = result { try await Task.sleep(for: .milliseconds(50)) }
        }
        try end(operation, result)
        return Self.place(of: result)
    }

    private static func place(of result: ObjectStation.Result) -> Place? {
        if case .answered(_, let place, _, _) = result { place } else { nil }
    }

    /// Reads, until the state is not behind `place`; whether it was answered.
    private func read(
        _ worker: Int, _ key: String, _ consistency: String, _ station: ObjectStation, _ place: Place?
    ) async throws -> Bool {
        let level: ReadConsistency = consistency == "linearizable" ? .linearizable : .local
        let deadline = ContinuousClock.now + settings.timeout
        let operation = try begin(worker, ObjectCall(key, .read), station.node, consistency)
        var result = ObjectStation.Result.failed("the replica stayed behind the session's write")
        repeat {
            let answer = await station.read(key, level, timeout: settings.timeout)
            if case .answered(_, let at?, _, _) = answer, let place, at < place {
                try await Task.sleep(for: .milliseconds(5))
                continue
            }
            result = answer
            break
        } while ContinuousClock.now < deadline
        try end(operation, result)
        if case .answered = result { return true }
        return false
    }

    /// The most batches of a worker that have no answer, when it does not wait for answers: 64 MiB of a node's inbox.
    private static let batchesUnderWay = 512
    private static let batch = 256

    private func stream(_ worker: Int, _ generator: inout CallGenerator, _ station: ObjectStation) async throws {
        let interval =
            settings.rate > 0
            ? Duration.seconds(Double(settings.workers * Self.batch) / settings.rate) : .zero
        let end = ContinuousClock.now + settings.duration
        var next = ContinuousClock.now
        let most = settings.isOpen ? Self.batchesUnderWay : 1
        try await withThrowingTaskGroup(of: Void.self) { group in
            var underWay = 0
            while !stopped.load(ordering: .relaxed), ContinuousClock.now < end {
                let calls = (0..<Self.batch).map { _ in generator.next() }
                if underWay == most {
                    try await group.next()
                    underWay -= 1
                }
                group.addTask { try await self.stream(worker, calls, station) }
                underWay += 1
                next = max(next + interval, ContinuousClock.now - .milliseconds(200))
                if next > ContinuousClock.now { try await Task.sleep(until: next, clock: .continuous) }
            }
            try await group.waitForAll()
        }
    }

    private func stream(_ worker: Int, _ calls: [ObjectCall], _ station: ObjectStation) async throws {
        var line = HistoryLine(at: HistoryLine.now(), operation: history.begin())
        line.worker = worker
        line.call = ObjectCall("counter/stream", .add(1))
        line.node = station.node
        line.count = calls.count
        try history.write(line)
        let result = await station.write(calls, timeout: .seconds(10))
        try end(line.operation, result)
        // Refused at the door: come again a little later.
        if case .failed = result { try await Task.sleep(for: .milliseconds(20)) }
    }

    // MARK: - History

    private func begin(
        _ worker: Int, _ call: ObjectCall, _ node: String, _ consistency: String? = nil
    ) throws -> Int {
        var line = HistoryLine(at: HistoryLine.now(), operation: history.begin())
        line.worker = worker
        line.call = call
        line.node = node
        line.consistency = consistency
        try history.write(line)
        return line.operation
    }

    private func end(_ operation: Int, _ result: ObjectStation.Result) throws {
        var line = HistoryLine(at: HistoryLine.now(), operation: operation)
        switch result {
        case .answered(let output, let place, let session, let number):
            line.outcome = .answered
            line.output = output
            line.epoch = place?.epoch.rawValue
            line.sequence = place?.sequence.rawValue
            line.session = session.map { "\($0)" }
            line.number = number
            counts.withLock { $0.answered += 1 }
        case .failed(let reason):
            line.outcome = .failed
            line.reason = reason
            counts.withLock { $0.failed += 1 }
        case .unknown(let pending, let reason):
            line.outcome = .unknown
            line.session = pending.map { "\($0.session)" }
            line.number = pending?.numbers.lowerBound
            line.reason = reason
            counts.withLock { $0.unknown += 1 }
        }
        try history.write(line)
    }
}

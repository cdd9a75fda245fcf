import LockstepCore
import LockstepNode
import Logging
import Synchronization
import Testing

/// The log of a node's life: what an operator reads at the level `info`.
@Suite(.timeLimit(.minutes(5)))
struct LifeLogTests {
    /// A primary and a replica of two stores each: every change is one line a store, with its place.
    @Test
    func aLifeIsWritten() async throws {
        let (ours, theirs) = (LogRecord(), LogRecord())
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory), logger: ours.logger())
        let port = try primary.attach(name: "first") { SumState() }
        _ = try primary.attach(name: "second") { SumState() }
        try await withRunning(primary) {
            _ = try await port.add([1])
            let replica = try Node(.replica(of: try await primary.listening()), logger: theirs.logger())
            let copies = try ["first", "second"].map { try replica.attach(name: $0) { SumState() } }
            try await withRunning(replica) {
                for copy in copies {
                    try await copy.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
                }
                try await until { theirs.short.filter { $0.contains("info live") }.count == 2 }
            }
        }
        // The stores go on side by side, so the order is that of each store, and that of the node.
        #expect(
            ours.short.filter { !$0.hasSuffix("first") && !$0.hasSuffix("second") } == [
                "info cluster learnt", "info listening", "info stopping",
            ])
        for store in ["first", "second"] {
            #expect(
                ours.short.filter { $0.hasSuffix(store) } == [
                    "info recovered \(store)", "info admitting \(store)", "info stopped \(store)",
                ])
        }
        for store in ["first", "second"] {
            let lines = theirs.short.filter { $0.hasSuffix(store) }
            #expect(
                lines == ["info primary found \(store)", "info live \(store)", "info stopped \(store)"])
        }
        for line in ours.lines + theirs.lines where line.metadata["lockstep.store"] != nil {
            #expect(line.metadata["lockstep.epoch"] != nil && line.metadata["lockstep.sequence"] != nil, "\(line)")
        }
        #expect(ours.lines.allSatisfy { $0.metadata["lockstep.node"] == primary.id.name })
    }

    /// A primary that goes and comes back: the replica writes each once, and the alarm of a refusal as a warning.
    @Test
    func aPrimaryIsLostAndFound() async throws {
        let record = LogRecord()
        let log = KeptLog()
        // A port that the system chooses is none that a node may be given again.
        let endpoint = "tcp://127.0.0.1:19870"
        let first = try Node(.primary(listen: endpoint, journal: log.source))
        _ = try first.attach(name: "sum") { SumState() }
        let replica = Task {
            let replica = try Node(.replica(of: endpoint), logger: record.logger())
            _ = try replica.attach(name: "sum") { SumState() }
            try await replica.run()
        }
        try await withRunning(first) { try await until { record.short.contains("info live sum") } }
        try await until { record.short.contains("info primary lost sum") }
        let second = try Node(.primary(listen: endpoint, journal: log.source))
        _ = try second.attach(name: "sum") { SumState() }
        try await withRunning(second) {
            try await until { record.short.filter { $0 == "info live sum" }.count == 2 }
            replica.cancel()
            _ = await replica.result
        }
        let lines = record.short.filter { $0.hasSuffix("sum") }
        #expect(
            lines == [
                "info primary found sum", "info live sum", "info primary lost sum", "info primary found sum",
                "info live sum", "info stopped sum",
            ])
    }

    /// PROTOCOL: a full disk is a warning with the alarm's name, its end a notice; what ends the node is an
    /// error.
    @Test
    func troubleIsAWarningOrAnError() async throws {
        let record = LogRecord()
        let log = KeptLog()
        let node = try Node(.local(journal: log.source), logger: record.logger(level: .notice))
        let port = try node.attach(name: "sum") { SumState() }
        let failure = await problem {
            try await withRunning(node) {
                log.content.withLock { $0.fault = .diskFull }
                async let sums = port.add([2])
                try await until { try await port.status().alarms.contains { $0.kind == .diskFull } }
                log.content.withLock { $0.fault = .none }
                _ = try await sums
                try await until { try await port.status().alarms.isEmpty }
                log.content.withLock { $0.fault = .broken }
                _ = await problem { _ = try await port.add([2]) }
            }
        }
        #expect(failure?.code == .journalFailed)
        #expect(
            record.short == ["warning alarm raised sum DISK_FULL", "notice alarm ended sum DISK_FULL", "error halted"])
    }

    private func problem(_ body: @Sendable () async throws -> Void) async -> LockstepError? {
        do {
            try await body()
            return nil
        } catch let error as LockstepError {
            return error
        } catch {
            Issue.record(error)
            return nil
        }
    }
}

import CAllocations
import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Synchronization

/// One transaction of the durable journal, from the call to its completion: its time is the disk's.
///
/// The journal works on a queue of its own, so the allocations of all threads count.
enum JournalCases {
    static let all: [Case] = [
        appending("journal/append-48-KiB", bytes: Limits.batchFullBytes),
        appending("journal/append-1-entry", bytes: 100),
    ]

    /// Where the journals are written; the program sets it before it measures.
    static let folder = Mutex(FileManager.default.temporaryDirectory.path)

    private static func appending(_ name: String, bytes: Int) -> Case {
        Case(
            name, unit: "append", rounds: 40, scope: .process, baseline: syncedWrite(bytes)
        ) { meter in
            let folder = folder.withLock { $0 } + "/journal-\(getpid())"
            // A left-over of a run that was killed, or nothing.
            try? FileManager.default.removeItem(atPath: folder)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let journal = try SQLiteJournal(
                folder: folder,
                request: JournalRequest(
                    cluster: Workload.cluster, storeName: Workload.storeName, nodeName: "p1",
                    channel: Workload.channel),
                create: true)
            try journal.recover(snapshot: { _ in }, batch: { _ in })
            defer { journal.close() }
            var batches = try batches(bytes > 4_096 ? .full : .ofOneEntry)
            batches.reverse()
            let waiting = Waiting(journal)
            // The opening of the epoch and of the session.
            for _ in 0..<2 { try waiting.append(batches.popLast()) }
            count_allocations_of_all_threads(true)
            defer { count_allocations_of_all_threads(false) }
            while meter.goesOn {
                let batch = batches.popLast()
                try meter.measure(1) { try waiting.append(batch) }
            }
        }
    }

    private enum Sizes {
        case full
        case ofOneEntry
    }

    /// Enough for all rounds, from the first of the log on.
    private static func batches(_ sizes: Sizes) throws -> [SealedBatch] {
        let primary = try OnePrimary(keepingOutput: true)
        switch sizes {
        case .full:
            let source = try FullBatches(48, of: primary)
            return source.beginning + source.batches
        case .ofOneEntry:
            var session = try OneSession(with: primary)
            var picks = Workload.Picks()
            for _ in 0..<48 {
                session.acknowledgeAll()
                primary.receive(session.submit(try picks.increments(1), count: 1), from: OneSession.connection)
                primary.endTurn()
            }
            return primary.takeBatches()
        }
    }

    /// A write past the end of a file, and a sync of it.
    private static func syncedWrite(_ bytes: Int) -> Baseline {
        Baseline("write + fdatasync") { meter in
            let path = folder.withLock { $0 } + "/plain-\(getpid())"
            let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw Failure("\(path) cannot be written") }
            defer {
                close(file)
                unlink(path)
            }
            let content = [UInt8](repeating: 7, count: bytes)
            while meter.goesOn {
                try meter.measure(1) {
                    guard write(file, content, bytes) == bytes, fdatasync(file) == 0 else {
                        throw Failure("\(path) cannot be written")
                    }
                }
            }
        }
    }
}

/// Appends and waits for the end.
private struct Waiting {
    private let journal: SQLiteJournal
    private let end = DispatchSemaphore(value: 0)
    private let hasFailed = Failed()

    private final class Failed: Sendable {
        let reason = Mutex<JournalFailure?>(nil)
    }

    init(_ journal: SQLiteJournal) { self.journal = journal }

    func append(_ batch: SealedBatch?) throws {
        guard let batch else { preconditionFailure("there is a batch for every round") }
        journal.append([batch]) { [end, hasFailed] outcome in
            if case .failure(let failure) = outcome { hasFailed.reason.withLock { $0 = failure } }
            end.signal()
        }
        end.wait()
        if let failure = hasFailed.reason.withLock({ $0 }) { throw failure }
    }
}

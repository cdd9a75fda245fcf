import Dispatch
import Foundation
import GRDB
import LockstepCore
import LockstepNode
import LockstepSQLite
import Synchronization

/// A folder of its own for a test, which is removed at the end, and what tests do to the files in it.
final class JournalFolder: Sendable {
    let path: String
    let cluster = ClusterID(rawValue: 0xC1)

    static let storeName = "counters"

    init(named name: String = "") {
        path =
            FileManager.default.temporaryDirectory.appendingPathComponent("lockstep-\(UUID().uuidString)\(name)").path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }  // What is left does not matter to the next test.

    var store: StoreID { StoreID(cluster: cluster, name: Self.storeName) }
    var database: String { path + "/counters.sqlite" }
    var log: String { path + "/counters.sqlite-wal" }
    var mark: String { path + "/counters.mark" }

    /// Small sizes, so that a few batches show what takes gigabytes otherwise.
    static var smallTuning: JournalTuning {
        var tuning = JournalTuning()
        tuning.checkpointBytes = 64 << 10
        tuning.chunkBytes = 4_096
        tuning.retainedBytes = 20_000
        return tuning
    }

    func request(cluster: ClusterID? = nil, node: String = "node-1", channel: UInt16 = 3) -> JournalRequest {
        JournalRequest(
            cluster: cluster ?? self.cluster, storeName: Self.storeName, nodeName: node,
            channel: Channel(rawValue: channel))
    }

    func journal(create: Bool = false, tuning: JournalTuning = smallTuning) throws -> SQLiteJournal {
        try SQLiteJournal(folder: path, request: request(), create: create, tuning: tuning)
    }

    /// As a data node opens it, which has an arbiter.
    func dataNodeJournal(create: Bool = false) throws -> SQLiteJournal {
        var request = request()
        request.isForDataNode = true
        return try SQLiteJournal(folder: path, request: request, create: create, tuning: Self.smallTuning)
    }

    /// A new journal with nothing in it, ready to be written.
    func emptyJournal() throws -> SQLiteJournal {
        let journal = try journal(create: true)
        _ = try journal.recovered()
        return journal
    }

    /// Opens, recovers and closes.
    func recovered() throws -> Recovered {
        let journal = try journal()
        defer { journal.close() }
        return try journal.recovered()
    }

    /// The code with which opening and recovering fails; nil if it does not fail.
    func refusal() throws -> LockstepError? {
        do { _ = try recovered() } catch let error as LockstepError { return error }
        return nil
    }

    /// What a power cut or a kill at this moment would leave, as far as a copy shows it.
    func copy(named name: String = "") throws -> JournalFolder {
        let copy = JournalFolder(named: name)
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: path + "/" + name, toPath: copy.path + "/" + name)
        }
        return copy
    }

    /// Runs statements on the closed file, as nobody but a test may.
    func tamper(_ sql: String) throws {
        let database = try DatabaseQueue(path: database)
        try database.writeWithoutTransaction { try $0.execute(sql: sql) }
        try database.close()
    }
}

/// What a recovery handed out.
struct Recovered: Equatable {
    var snapshot: Position?
    var state: [UInt8]?
    var batches: [SealedBatch] = []
    /// What is not known to be committed.
    var tail: [SealedBatch] = []
}

extension ArbitratedJournal {
    func recovered() throws -> Recovered {
        var result = Recovered()
        try recover { content in
            result.snapshot = content.log.position
            result.state = content.state
        } batch: {
            result.batches.append($0)
        } tail: {
            result.tail.append($0)
        }
        return result
    }
}

extension ArbitratedJournal {
    /// Waits for a write, and throws ``JournalFailure`` if it fails.
    func done(_ ask: (@escaping @Sendable (Result<Void, JournalFailure>) -> Void) -> Void) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            ask { done.resume(with: $0.mapError { $0 }) }
        }
    }

    /// Appends with a commit number.
    func appended(_ batches: [SealedBatch], committed: SequenceNumber) async throws {
        try await done { append(batches, committed: committed, completion: $0) }
    }

    /// Cuts, and waits for what came of it.
    ///
    /// It blocks: an asynchronous function of a protocol's extension that takes or returns a position ends the process
    /// when it was compiled by Swift 6.3.1.
    func truncated(
        after end: Position, reason: String = "another primary"
    ) -> Result<CutBatches, TruncationFailure> {
        let done = DispatchSemaphore(value: 0)
        let answer = Mutex<Result<CutBatches, TruncationFailure>?>(nil)
        truncate(after: end, reason: reason) { result in
            answer.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        return answer.withLock { $0 } ?? .failure(.noEnd(end))
    }
}

extension SQLiteJournal {
    /// Appends, and throws ``JournalFailure`` if that fails.
    func appended(_ batches: [SealedBatch]) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            append(batches) { done.resume(with: $0.mapError { $0 }) }
        }
    }

    func saved(_ bytes: [UInt8], at position: Position) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            save(snapshot: bytes, at: position) { done.resume(with: $0.mapError { $0 }) }
        }
    }

    func replaced(_ bytes: [UInt8], at position: Position) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            replace(withSnapshot: bytes, at: position) { done.resume(with: $0.mapError { $0 }) }
        }
    }
}

/// A file's bytes, to be changed and written back.
func edit(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    change(&bytes)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
}

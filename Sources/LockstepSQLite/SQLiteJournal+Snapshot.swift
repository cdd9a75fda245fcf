import Foundation
import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

/// A snapshot on its way into the journal, in steps between which appends are served.
///
///     clean --> write --> check --> commit --> trim --> tidy --> done
///                 |         |         |                  ^
///                 +---------+---------+--- disk full ----+
///
/// Chunks are written and read back before the row that makes them a snapshot; only then older ones go.
private struct SnapshotJob: Sendable {
    enum Phase: Hashable, Sendable {
        /// Takes away chunks of a save that did not end.
        case clean
        case write
        /// Reads the chunks back.
        case check
        /// Writes the row; a replacement forgets the log in the same transaction.
        case commit
        /// Takes away batches that retention no longer keeps.
        case trim
        /// Takes away chunks that no row names.
        case tidy
        case done
    }

    let bytes: [UInt8]
    let position: Position
    let isReplacement: Bool
    let completion: @Sendable (Result<Void, JournalFailure>) -> Void
    var phase = Phase.clean
    var firstChunk: Int64 = 0
    var hashes: [UInt128] = []
    var checked = 0
    var result: Result<Void, JournalFailure> = .success(())

    func chunkCount(_ chunkBytes: Int) -> Int { max(1, (bytes.count + chunkBytes - 1) / chunkBytes) }

    func row() -> SnapshotRow {
        SnapshotRow(position: position, size: bytes.count, firstChunk: firstChunk, chunkHashes: hashes)
    }
}

extension SQLiteJournal {
    /// See ``Journal/save(snapshot:at:completion:)``.
    ///
    /// Appends that are asked for meanwhile are completed meanwhile.
    package func save(
        snapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        begin(SnapshotJob(bytes: bytes, position: position, isReplacement: false, completion: completion))
    }

    /// See ``Journal/replace(withSnapshot:at:completion:)``.
    ///
    /// Nothing may be appended before it ends.
    package func replace(
        withSnapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        begin(SnapshotJob(bytes: bytes, position: position, isReplacement: true, completion: completion))
    }

    private func begin(_ job: SnapshotJob) {
        state.withLock { state in
            precondition(!state.isSaving, "one snapshot is saved at a time")
            precondition(job.isReplacement || job.position.sequence <= state.head.sequence, "a snapshot of the future")
            state.isSaving = true
            state.savingAt = job.isReplacement ? .zero : job.position.sequence
        }
        advance(job)
    }

    private func advance(_ job: SnapshotJob) {
        onDatabase { [self] db in
            guard let db else { return finish(job, .failure(.failed(refusal))) }
            var job = job
            do {
                try step(&job, db)
            } catch {
                let failure = failure(for: error)
                guard failure == .diskFull, job.phase != .clean, job.phase != .tidy else {
                    return finish(job, job.phase == .tidy ? job.result : .failure(failure))
                }
                // A full disk after the commit only puts off what retention would take away.
                if job.phase != .trim { job.result = .failure(failure) }
                job.phase = .tidy
            }
            checkpointIfDue(db)
            if job.phase == .done { finish(job, job.result) } else { advance(job) }
        }
    }

    private func finish(_ job: SnapshotJob, _ result: Result<Void, JournalFailure>) {
        state.withLock { ($0.isSaving, $0.savingAt) = (false, .zero) }
        job.completion(result)
    }

    private func step(_ job: inout SnapshotJob, _ db: Database) throws {
        switch job.phase {
        case .clean:
            guard try !deleteLooseChunk(db) else { return }
            job.firstChunk = (try Int64.fetchOne(db, sql: "SELECT max(id) FROM chunks") ?? 0) + 1
            let isThere = try Row.fetchOne(
                db, sql: "SELECT 1 FROM snapshots WHERE sequence = ?",
                arguments: [Int64(job.position.sequence.rawValue)])
            job.phase = isThere != nil && !job.isReplacement ? .trim : .write
        case .write:
            guard try hasRoom(for: job, db) else {
                job.result = .failure(.diskFull)
                job.phase = .tidy
                return
            }
            try writeChunk(&job, db)
            if job.hashes.count == job.chunkCount(tuning.chunkBytes) { job.phase = .check }
        case .check:
            // The hash is that of the bytes in memory, not the one that was stored.
            let chunk = try job.row().chunk(job.checked, db)
            guard chunk.hash == job.hashes[job.checked] else { throw job.row().finding("it was not stored as it was") }
            job.checked += 1
            if job.checked == job.hashes.count { job.phase = .commit }
        case .commit:
            try commit(job, db)
            job.phase = .trim
        case .trim:
            if try !deleteOldBatches(db) { job.phase = .tidy }
        case .tidy:
            if try !deleteLooseChunk(db) { job.phase = .done }
        case .done: break
        }
    }

    /// Whether what is left of a snapshot fits, with free pages of the file, and leaves batches their reserve.
    ///
    /// It is asked before each chunk, since others write to the same disk meanwhile: batches, other stores, programs. A
    /// replacement needs no reserve: the batches before it go with its commit.
    private func hasRoom(for job: SnapshotJob, _ db: Database) throws -> Bool {
        guard let free = freeBytes() else { return true }
        let rest = Int64(job.bytes.count - job.hashes.count * tuning.chunkBytes)
        let unused = (try Int64.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0) * Int64(JournalSchema.pageBytes)
        let (room, isEndless) = free.addingReportingOverflow(unused)
        return isEndless || room - (job.isReplacement ? 0 : tuning.reservedBytes) >= rest
    }

    private func writeChunk(_ job: inout SnapshotJob, _ db: Database) throws {
        let start = job.hashes.count * tuning.chunkBytes
        let range = start..<min(start + tuning.chunkBytes, job.bytes.count)
        let hash = withBytes(of: job.bytes) { sha256Prefix($0, range) }
        let id = job.firstChunk + Int64(job.hashes.count)
        try transaction(db) {
            try job.bytes[range].withUnsafeBytes { buffer in
                let data = buffer.baseAddress.map { start in
                    Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: buffer.count, deallocator: .none)
                }
                try db.cachedStatement(sql: "INSERT INTO chunks(id, hash, bytes) VALUES (?, ?, ?)").execute(
                    arguments: [id, blob(hash), data ?? Data()])
            }
        }
        state.withLock { $0.walBytes += range.count + 4 * JournalSchema.pageBytes }
        job.hashes.append(hash)
    }

    /// Makes the chunks a snapshot.
    ///
    /// A replacement moves the head and the generation in the same transaction; the mark follows, and recovery knows
    /// that it may be one generation behind.
    private func commit(_ job: SnapshotJob, _ db: Database) throws {
        let row = job.row()
        var (generation, arbitration) = state.withLock { ($0.generation, $0.arbitration) }
        if job.isReplacement {
            generation += 1
            arbitration?.replaced(by: row.position)
        }
        try transaction(db) {
            if job.isReplacement {
                try db.execute(sql: "DELETE FROM batches; DELETE FROM snapshots")
                try JournalMeta.write(String(generation), for: .generation, to: db)
                try arbitration?.write(to: db)
            }
            try db.execute(
                sql: "INSERT INTO snapshots(\(SnapshotRow.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
                arguments: [
                    Int64(row.position.sequence.rawValue), Int64(bitPattern: row.position.epoch.rawValue),
                    blob(row.position.hash.rawValue), row.size, row.firstChunk, row.chunkCount, blob(row.sum),
                ])
            try db.execute(
                sql: """
                    DELETE FROM snapshots WHERE sequence NOT IN
                    (SELECT sequence FROM snapshots ORDER BY sequence DESC LIMIT \(JournalSchema.snapshotsKept))
                    """)
        }
        let tail = try Int.fetchOne(
            db, sql: "SELECT coalesce(sum(length(bytes)), 0) FROM batches WHERE first > ?",
            arguments: [Int64(row.position.sequence.rawValue)])
        let (file, mark) = state.withLock { state -> (SideMarkFile?, SideMark) in
            state.newestSnapshot = row.position.sequence
            state.snapshotBytes = row.size
            state.batchBytes = tail ?? 0
            state.generation = generation
            if job.isReplacement {
                state.head = row.position
                state.arbitration = arbitration
                state.keptBytes = 0
            }
            return (state.mark, sideMark(state))
        }
        if job.isReplacement { try file?.reset(mark) }
    }

    /// Deletes one chunk that no snapshot names; false if there is none.
    private func deleteLooseChunk(_ db: Database) throws -> Bool {
        let id = try Int64.fetchOne(
            db,
            sql: """
                SELECT id FROM chunks WHERE NOT EXISTS (SELECT 1 FROM snapshots
                WHERE id >= first_chunk AND id < first_chunk + chunk_count) LIMIT 1
                """)
        guard let id else { return false }
        try transaction(db) { try db.execute(sql: "DELETE FROM chunks WHERE id = ?", arguments: [id]) }
        state.withLock { $0.walBytes += 8 * JournalSchema.pageBytes }
        return true
    }

    /// Deletes up to a chunk's size of the oldest batches that two snapshots cover; false if there is none to delete.
    private func deleteOldBatches(_ db: Database) throws -> Bool {
        let snapshots = try SnapshotRow.fetchAll(db)
        guard snapshots.count >= JournalSchema.snapshotsKept, let older = try snapshots.last?.get() else {
            return false
        }
        var kept = state.withLock { $0.keptBytes }
        var size = 0
        var through: Int64?
        let rows = try Row.fetchCursor(
            db, sql: "SELECT first, last, length(bytes) FROM batches WHERE first <= ? ORDER BY first LIMIT 256",
            arguments: [Int64(older.position.sequence.rawValue)])
        while let row = try rows.next(), let first = row.integer(0), let last = row.sequence(1),
            let length = row.integer(2), last <= older.position.sequence, kept - Int(length) >= tuning.retainedBytes,
            size < tuning.chunkBytes
        {
            through = first
            kept -= Int(length)
            size += Int(length)
        }
        guard let through else { return false }
        try transaction(db) { try db.execute(sql: "DELETE FROM batches WHERE first <= ?", arguments: [through]) }
        state.withLock { state in
            state.keptBytes = kept
            state.walBytes += size / 16 + 8 * JournalSchema.pageBytes
        }
        return true
    }
}

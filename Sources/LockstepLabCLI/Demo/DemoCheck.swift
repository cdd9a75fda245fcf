import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepFolders
import LockstepSQLite
import LockstepServer

/// Compares what the clients were told with the journals of the stopped nodes.
struct DemoCheck {
    let ledger: DemoLedger
    let report: DemoCommand.Report

    func run(_ folders: [NodeFolder]) throws {
        let effective = report.acknowledged + report.resolvedAfterwards
        guard report.unknown == 0 else {
            throw CommandFailure("\(report.unknown) adds have no outcome, although their session never ended")
        }
        guard report.sum == Int64(effective) else {
            throw CommandFailure("the counters' sum is \(report.sum), but \(effective) adds took effect")
        }
        var digests: Set<String> = []
        for (index, folder) in folders.enumerated() {
            for store in try folder.identity().stores {
                let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
                let findings = try reader.verifyAll()
                guard findings.isEmpty else {
                    throw CommandFailure(
                        "the journal of \(store) in \(folder.path) is damaged: \(findings)")
                }
                try reader.close()
            }
            let reader = try SQLiteJournalReader(folder: folder.path, storeName: Hosted.counters)
            var rebuilt = try RebuiltState(reader, Counters(), through: end)
            try tail(of: reader) { try rebuilt.apply($0) }
            digests.insert("\(rebuilt.state.digest)")
            if index == 0 { try compareAnswers(reader) }
            try reader.close()
        }
        guard digests.count == 1 else { throw CommandFailure("the journals lead to different states: \(digests)") }
    }

    /// Where all nodes were before they stopped: what they all have has committed.
    private var end: SequenceNumber { SequenceNumber(rawValue: report.sequence) }

    /// What follows in a data node's journal, which may know of a commit some time after the node does (PROTOCOL, R-84).
    private func tail(of reader: SQLiteJournalReader, _ body: (SealedBatch) throws -> Void) throws {
        try reader.tail { batch in if batch.head.last <= end { try body(batch) } }
    }

    /// Every answer names an entry of the log that is its own; every number of a session is in the log once.
    private func compareAnswers(_ reader: SQLiteJournalReader) throws {
        var entries: [UInt64: (session: SessionID, number: RequestNumber)] = [:]
        var lastNumbers: [SessionID: RequestNumber] = [:]
        func note(_ batch: SealedBatch) throws {
            try withBytes(of: batch.bytes) { bytes in
                var cursor = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                var sequence = batch.head.first.rawValue
                while cursor.remaining > 0 {
                    let entry = try Entry(from: bytes, &cursor)
                    if case .actions(let run) = entry {
                        guard run.first == lastNumbers[run.session, default: 0] + 1 else {
                            throw CommandFailure(
                                "session \(run.session) has number \(run.first) out of order in the log")
                        }
                        lastNumbers[run.session] = run.first + UInt64(run.count) - 1
                        for index in 0..<UInt64(run.count) {
                            entries[sequence + index] = (run.session, run.first + index)
                        }
                    }
                    sequence += UInt64(entry.sequenceCount)
                }
            }
        }
        try reader.batches(after: .zero, note)
        try tail(of: reader, note)
        for answer in ledger.answers {
            guard let entry = entries[answer.sequence], entry.session == answer.session, entry.number == answer.number
            else {
                throw CommandFailure(
                    "the acknowledged add \(answer.session) number \(answer.number) is not at \(answer.sequence) in the log"
                )
            }
        }
    }
}

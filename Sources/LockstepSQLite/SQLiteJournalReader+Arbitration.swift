import GRDB
package import LockstepCore
import LockstepNode

// What follows the commit number of an arbitrated journal (PROTOCOL, R-84).
extension SQLiteJournalReader {
    /// Through which the log is committed; nil if that is all of it, since the journal is not arbitrated.
    func committed(_ db: Database) throws -> SequenceNumber? {
        guard let arbitration else { return nil }
        let newest = try SnapshotRow.fetchAll(db).first?.get().position.sequence
        return arbitration.committed(snapshot: newest ?? .zero)
    }

    /// The commit number as a start would take it; nil of a journal that is not arbitrated.
    package func commitNumber() throws -> SequenceNumber? { try read { try committed($0) } }

    /// Hands out, in order, the batches that are not known to be committed, each checked by the chain.
    ///
    /// There are none in a journal that is not arbitrated.
    package func tail(_ body: (SealedBatch) throws -> Void) throws {
        try read { db in
            guard let committed = try committed(db) else { return }
            let start = try JournalEnd.position(db, store: identity.store, through: committed)
            var chain = ChainCheck(store: identity.store, position: start)
            let rows = try Row.fetchCursor(db, sql: ChainCheck.query, arguments: [Int64(start.sequence.rawValue)])
            while let row = try reading(.batch, chain.position?.sequence.next ?? .zero, { try rows.next() }) {
                try body(try chain.next(row))
            }
        }
    }
}

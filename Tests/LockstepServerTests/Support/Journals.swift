import Foundation
import LockstepCore
import LockstepServer
import LockstepSQLite

/// A folder that is there for as long as `body` takes.
func withFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = NSTemporaryDirectory() + "lockstep-server-\(UInt32.random(in: .min ... .max))"
    defer {
        // What cannot be removed lies in the temporary folder.
        try? FileManager.default.removeItem(atPath: folder)
    }
    return try await body(folder)
}

/// A journal that a node of one process has written, with what `body` sent.
func withJournal<R: Reactor, Value>(
    of reactor: R, sending actions: [R.Action], _ body: (SQLiteJournalReader) throws -> Value
) async throws -> Value {
    try await withFolder { folder in
        let node = try Node(.local(journal: .sqlite(at: folder, create: true)))
        let store = try node.store(reactor, named: "store")
        try await node.whileRunning {
            for action in actions {
                do { _ = try await store.send(action) } catch let error as LockstepError where error.code == .rejected {
                    // It is in the journal too.
                }
            }
        }
        let reader = try SQLiteJournalReader(folder: folder, storeName: "store")
        let value = try body(reader)
        try reader.close()
        return value
    }
}

/// The entries of a journal of one kind, as `journal dump` prints them.
func entries(
    _ kind: String, of reader: SQLiteJournalReader, as decoding: StoreDecoding?
) throws -> [[String: JSONValue]] {
    var entries: [[String: JSONValue]] = []
    var dump = EntryDump(store: "store", decoding: decoding)
    try reader.batches(after: .zero) { batch in
        for record in try dump.records(of: batch) {
            guard case .object(let members) = try JSONValue(of: record) else { continue }
            if members["kind"] == .text(kind) { entries.append(members) }
        }
    }
    return entries
}

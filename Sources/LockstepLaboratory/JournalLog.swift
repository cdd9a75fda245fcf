package import Counters
import Lockstep
package import LockstepChecking
import LockstepCore
import LockstepFolders
import LockstepSQLite

/// What a stopped node's journal of one store holds, as the checkers need it.
package struct JournalLog: Sendable {
    /// The node's folder.
    package var folder: String
    package var store: String
    /// The first sequence number that is still there; what is older was trimmed.
    package private(set) var first: UInt64 = 1
    /// The last sequence number that is known to be committed.
    package private(set) var last: UInt64 = 0
    /// The chain's hash at the end of each batch, as far as it is committed.
    package private(set) var hashes: [UInt64: String] = [:]
    /// Of a data node, what follows: the chain's hash at the end of each batch.
    package private(set) var tail: [UInt64: String] = [:]
    /// Whether it is a data node's (PROTOCOL, R-85).
    package private(set) var isArbitrated = false
    /// The epochs of the committed batches.
    package private(set) var epochs: Set<UInt64> = []
    /// What the log says about each number of each session.
    package private(set) var actions: [ActionName: LoggedAction] = [:]
    /// What is damaged, and numbers that do not follow each other.
    package private(set) var findings: [String] = []

    /// A session's number.
    package struct ActionName: Hashable, Sendable {
        package var session: String
        package var number: UInt64

        /// Names a number of the session that the entry `epoch:sequence` opened.
        package init(session: String, number: UInt64) {
            self.session = session
            self.number = number
        }
    }

    /// An action in the log.
    package struct LoggedAction: Sendable {
        package var place: LogPlace
        /// `nil`: it was given up before it reached the log, and is without effect.
        package var output: ObjectOutput?

        /// Says where an action is and what came of it.
        package init(place: LogPlace, output: ObjectOutput?) {
            self.place = place
            self.output = output
        }
    }

    /// The last sequence number, committed or not.
    package var end: UInt64 { max(last, tail.keys.max() ?? 0) }

    /// Names what a data node's journal has at the ends of its batches.
    package init(
        folder: String, store: String, first: UInt64 = 1, committed: [UInt64: String], tail: [UInt64: String] = [:]
    ) {
        (self.folder, self.store, self.first) = (folder, store, first)
        (hashes, self.tail, isArbitrated) = (committed, tail, true)
        last = committed.keys.max() ?? 0
        keepsActions = false
    }

    /// Whether ``actions`` are kept; the hashes say whether another journal has the same.
    private let keepsActions: Bool

    /// Reads and verifies a whole journal.
    package init(folder: String, store: String, keepsActions: Bool = true) throws {
        self.keepsActions = keepsActions
        self.folder = folder
        self.store = store
        let reader = try SQLiteJournalReader(folder: folder, storeName: store)
        findings = try reader.verifyAll().map { "\(folder), \(store): \($0)" }
        var numbers: [SessionID: UInt64] = [:]
        var isFirst = true
        try reader.batches(after: .zero) { batch in
            if isFirst { first = batch.head.first.rawValue }
            isFirst = false
            last = batch.head.last.rawValue
            hashes[last] = "\(batch.hash)"
            epochs.insert(batch.head.epoch.rawValue)
            try withBytes(of: batch.bytes) { try read(batch, $0, &numbers) }
        }
        isArbitrated = reader.arbitration != nil
        try reader.tail { tail[$0.head.last.rawValue] = "\($0.hash)" }
        try reader.close()
    }

    private mutating func read(
        _ batch: SealedBatch, _ bytes: RawSpan, _ numbers: inout [SessionID: UInt64]
    ) throws {
        var cursor = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
        var sequence = batch.head.first.rawValue
        while cursor.remaining > 0 {
            let entry = try Entry(from: bytes, &cursor)
            defer { sequence += UInt64(entry.sequenceCount) }
            guard case .actions(let run) = entry else { continue }
            // Of a session that began before the journal does, the first number is not known.
            if let before = numbers[run.session] ?? (first == 1 ? 0 : nil), run.first != before + 1 {
                findings.append("\(folder), \(store): number \(run.first) of session \(run.session) follows \(before)")
            }
            numbers[run.session] = run.first + UInt64(run.count) - 1
            guard keepsActions else { continue }
            var items = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
            for index in 0..<UInt64(run.count) {
                let item = try Item(from: bytes, &items)
                let place = LogPlace(epoch: batch.head.epoch.rawValue, sequence: sequence + index)
                let output = try output(item, bytes)
                actions[ActionName(session: "\(run.session)", number: run.first + index)] = LoggedAction(
                    place: place, output: output)
            }
        }
    }

    private func output(_ item: Item, _ bytes: RawSpan) throws -> ObjectOutput? {
        switch item.status {
        case .void, .accepted: return nil
        case .rejected: return .rejected
        case .committed:
            // What a search replies is nobody's output.
            if store == "search" { return .absent }
            if store == Workbench.store { return .value(try Workbench.replyCoding.decodeChecked(bytes, item.reply)) }
            guard case .value(let value) = try Counters.replyCoding.decodeChecked(bytes, item.reply) else {
                return .absent
            }
            return .value(value)
        }
    }

    /// What this journal has that is not in `other`, as far as both reach: at equal ends the chains must be equal.
    package func differences(from other: JournalLog) -> [String] {
        let both = hashes.keys.filter { other.hashes[$0] != nil }
        let name = "\(folder) and \(other.folder), \(store)"
        var findings = both.filter { hashes[$0] != other.hashes[$0] }.sorted().prefix(1).map {
            "\(name): other histories from \($0) at the latest"
        }
        if last > other.last { findings.append("\(name): the first ends at \(last), after the other's \(other.last)") }
        if both.isEmpty, !hashes.isEmpty, !other.hashes.isEmpty, last >= other.first {
            findings.append("\(name): no place is in both")
        }
        return findings
    }
}

/// The states that the journals of a stopped node lead to.
package struct RebuiltStates: Sendable {
    package var counters: Counters.State
    package var workbench: Workbench.State
    /// The digests of both.
    package var digests: [String]

    /// Rebuilds the states through the ends that are given by store, or the journals' own; `folder` names whose journal
    /// of a store is read.
    package init(through ends: [String: UInt64], folder: (String) -> String) throws {
        let counters = try Self.rebuild(folder("counters"), "counters", Counters(), ends)
        let workbench = try Self.rebuild(folder(Workbench.store), Workbench.store, Workbench(), ends)
        self.counters = counters.state.workingState
        self.workbench = workbench.state.workingState
        digests = [
            "\(counters.state.digest + counters.log.digest)", "\(workbench.state.digest + workbench.log.digest)",
        ]
    }

    private static func rebuild<R: Reactor>(
        _ folder: String, _ store: String, _ reactor: R, _ ends: [String: UInt64]
    ) throws -> RebuiltState<R> {
        let reader = try SQLiteJournalReader(folder: folder, storeName: store)
        defer { try? reader.close() }  // Nothing was written.
        return try RebuiltState(reader, reactor, through: SequenceNumber(rawValue: ends[store] ?? UInt64(Int64.max)))
    }
}

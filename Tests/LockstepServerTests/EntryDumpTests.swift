import Counters
import LockstepCore
import LockstepNode
import LockstepServer
import LockstepSQLite
import Testing

/// Entries of a journal are shown by the types of the program's own stores, and by nothing else.
@Suite(.timeLimit(.minutes(5))) struct EntryDumpTests {
    private static let sales: [Stock.Action] = [.restock("pear", pieces: 2), .sell("pear"), .sell("plum")]

    /// Mutations and replies of actions that ended at once; the reason of one that was rejected.
    @Test func actionsAreDecodedByTheirStoresTypes() async throws {
        try await withJournal(of: Stock(), sending: Self.sales) { reader in
            let actions = try entries("action", of: reader, as: StoreDecoding(types: Stock.self))
            try #require(actions.count == 3)
            let restocked = JSONValue.object([
                "mutations": .list([.object(["changed": .object(["_0": .text("pear"), "by": .integer(2)])])]),
                "reply": .integer(2),
            ])
            #expect(actions[0]["decoded"] == restocked)
            #expect(actions[0]["mutations"] == .list([.text(#"{"changed":{"_0":"pear","by":2}}"#)]))
            #expect(actions[0]["reply"] == .text("04"), "the bytes of the number 2")
            #expect(actions[0]["bytes"] == nil)
            #expect(actions[2]["status"] == .text("rejected"))
            #expect(actions[2]["reply"] == .text("there is no plum left"))
            #expect(actions[2]["decoded"] == nil)
        }
    }

    /// Of an action whose effect goes on the log keeps the action itself, what it emitted, and its end.
    @Test func effectsAreDecodedToo() async throws {
        try await withJournal(of: Deliveries(), sending: [.order(7)]) { reader in
            let decoding = StoreDecoding(types: Deliveries.self)
            let accepted = try entries("accepted", of: reader, as: decoding)
            #expect(
                accepted.map { $0["decoded"] } == [
                    .object(["action": .object(["order": .object(["_0": .integer(7)])])])
                ])
            let delivered = JSONValue.list([.object(["delivered": .object(["_0": .integer(7)])])])
            let emitted = try entries("emitted", of: reader, as: decoding)
            #expect(emitted.map { $0["decoded"] } == [.object(["mutations": delivered])])
            let finished = try entries("finished", of: reader, as: decoding)
            #expect(finished.map { $0["status"] } == [.text("committed")])
        }
    }

    /// A type with bytes of its own is shown in Swift's words, as before, and as JSON.
    @Test func typesWithTheirOwnBytesAreDecoded() async throws {
        try await withJournal(of: Counters(), sending: [.add("a", by: 5)]) { reader in
            let actions = try entries("action", of: reader, as: StoreDecoding(types: Counters.self))
            try #require(actions.count == 1)
            guard case .list(let texts) = actions[0]["mutations"], case .text(let text) = texts.first else {
                Issue.record("there are no mutations: \(actions)")
                return
            }
            #expect(text.hasPrefix(#"added("a", 5)"#))
            guard case .object(let decoded) = actions[0]["decoded"] else {
                Issue.record("nothing is decoded: \(actions)")
                return
            }
            #expect(decoded["reply"] == .object(["value": .object(["_0": .integer(5)])]))
        }
    }

    /// A store that the program does not know is shown as what it is: names, places, sizes and bytes.
    @Test func anUnknownStoreIsShownRaw() async throws {
        try await withJournal(of: Stock(), sending: Self.sales) { reader in
            let actions = try entries("action", of: reader, as: nil)
            try #require(actions.count == 3)
            let json = #"{"changed":{"_0":"pear","by":2}}"#
            #expect(actions[0]["mutations"] == .list([.text(hexadecimal(json))]))
            #expect(
                actions[0]["bytes"]
                    == .object(["mutations": .list([.integer(Int64(json.utf8.count))]), "reply": .integer(1)]))
            #expect(actions[0]["decoded"] == nil)
            #expect(actions[0]["store"] == .text("store") && actions[0]["batchHash"] != nil)
        }
    }

    /// Bytes that the store's types cannot read are shown as bytes: the journal of another store of the same name.
    @Test func bytesOfOtherTypesAreNotGuessedAt() async throws {
        try await withJournal(of: Stock(), sending: Self.sales) { reader in
            let actions = try entries("action", of: reader, as: StoreDecoding(types: Deliveries.self))
            try #require(actions.count == 3)
            #expect(actions[0]["decoded"] == nil && actions[0]["bytes"] != nil)
        }
        try await withJournal(of: Deliveries(), sending: [.order(7)]) { reader in
            let accepted = try entries("accepted", of: reader, as: StoreDecoding(types: Stock.self))
            #expect(accepted.first?["action"] == .text(hexadecimal(#"{"order":{"_0":7}}"#)))
        }
    }

    /// Who sent an action is shown also if the session was opened long before the first entry that is wanted.
    @Test func aSenderIsKnownFromBeforeTheFirstEntry() async throws {
        try await withFolder { folder in
            let request = JournalRequest(cluster: nil, storeName: "store", nodeName: "node-1")
            let journal = try SQLiteJournal(folder: folder, request: request, create: true)
            try journal.openForRepair()
            let (store, epoch, time) = (journal.identity.store, Epoch(rawValue: 1), LogTime(rawValue: 1_000))
            let filler = Entry.sessionExpire([SessionID(epoch: Epoch(rawValue: 9), sequence: .zero.next)])
            var before = BatchBuilder(store: store, epoch: epoch, after: .start(of: store), time: time)
            before.append(.epochOpen(node: "node-1", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 1)))
            for _ in 2...4 { before.append(filler) }
            let open = Open(
                client: ClientKey(rawValue: 1), nonce: 1, timeToLive: 60_000_000, windowNumbers: 8,
                windowBytes: 1 << 14)
            let session = SessionID(epoch: epoch, sequence: before.append(.sessionOpen(open, sender: "web-1")))
            #expect(session.sequence.rawValue == 5)
            Self.appendAction(of: session, number: 1, to: &before)
            let opened = before.sealed()
            var after = BatchBuilder(store: store, epoch: epoch, after: opened.position, time: time)
            for _ in 7...8 { after.append(filler) }
            Self.appendAction(of: session, number: 2, to: &after)
            try journal.appendRecovered([opened, after.sealed()])
            journal.close()

            let reader = try SQLiteJournalReader(folder: folder, storeName: "store")
            for start in [SequenceNumber.zero, SequenceNumber(rawValue: 5), SequenceNumber(rawValue: 7)] {
                var dump = try EntryDump(reader, decoding: nil, after: start)
                var senders: [JSONValue?] = []
                try reader.batches(after: start) { batch in
                    for record in try dump.records(of: batch) {
                        guard case .object(let members) = try JSONValue(of: record) else { continue }
                        if members["sequence"] == .integer(9) { senders.append(members["sender"]) }
                    }
                }
                #expect(senders == [.text("web-1")], "after \(start)")
            }
            try reader.close()
        }
    }

    private static func appendAction(of session: SessionID, number: RequestNumber, to batch: inout BatchBuilder) {
        batch.beginSeries(session: session, first: number, ackedThrough: 0)
        batch.appendItem(.rejected, reason: "no")
        _ = batch.endSeries()
    }

    private func hexadecimal(_ text: String) -> String {
        text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

import Lockstep
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepServer
import LockstepSQLite
import Testing

/// States are rebuilt from a journal, shown as JSON, and compared.
@Suite(.timeLimit(.minutes(5))) struct StateReportTests {
    /// Each state is that of its place; two are compared where they differ, and nowhere else.
    @Test func statesOfAJournalAreRebuiltAndCompared() async throws {
        let actions: [Stock.Action] = [
            .restock("pear", pieces: 2), .restock("blue plum", pieces: 1), .sell("pear"), .restock("fig", pieces: 9),
        ]
        try await withJournal(of: Stock(), sending: actions) { reader in
            let places = try entries("action", of: reader, as: nil).map { entry -> UInt64 in
                guard case .integer(let sequence) = entry["sequence"] else { return 0 }
                return UInt64(sequence)
            }
            try #require(places.count == 4)
            // The second action's batch may end with a mark.
            let first = try StateReport(reader, Stock(), through: places[2] - 1).json()
            #expect(first == .object(["amounts": .object(["pear": .integer(2), "blue plum": .integer(1)])]))
            let last = try StateReport(reader, Stock(), through: nil)
            #expect(
                changes(from: first, to: try last.json()) == [
                    "$.amounts.fig: nothing -> 9", "$.amounts.pear: 2 -> 1",
                ])
            guard case .object(let report) = try JSONValue(of: last) else {
                Issue.record("the report is no object")
                return
            }
            #expect(report["state"] != nil && report["digest"] != nil && report["position"] != nil)
            #expect(try JSONValue(of: last.withoutContent) == .object(report.filter { $0.key != "state" }))
        }
    }

    /// A place before all that a journal keeps is refused; the first that is kept has a state.
    @Test func aPlaceThatIsNoLongerKeptIsRefused() async throws {
        try await withFolder { folder in
            var make = try Shop.parseAsRoot(["init", "--data", folder, "--node", "node-1", "--store", "stock"])
            try make.run()
            let request = JournalRequest(cluster: nil, storeName: "stock", nodeName: "node-1")
            let journal = try SQLiteJournal(folder: folder, request: request, create: false)
            try journal.openForRepair()
            var log = LogState(store: journal.identity.store)
            var builder = BatchBuilder(
                store: log.store, epoch: Epoch(rawValue: 1), after: log.position, time: LogTime(rawValue: 1_000))
            builder.append(
                .epochOpen(node: "node-1", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 1)))
            for number in UInt64(2)...5 {
                let session = SessionID(epoch: Epoch(rawValue: 9), sequence: SequenceNumber(rawValue: number))
                builder.append(.sessionExpire([session]))
            }
            let state = ReactorState.detached(Stock())
            _ = try log.apply(builder.sealed(), to: state)
            let content = SnapshotContent(
                log: log, digest: state.digest + log.digest, state: try Stock.stateCoding.encoded(Stock.State()))
            try journal.replaceRecovered(withSnapshot: content.encoded(), at: log.position)
            journal.close()

            for words in [["state-at", "3"], ["difference", "3", "5"]] {
                var command = try Shop.parseAsRoot(["journal"] + words + ["--data", folder])
                let error = #expect(throws: LockstepError.self) { try command.run() }
                #expect(error?.code == .positionTooOld)
                #expect(error?.message.contains("has no state at 3: it begins at 5") == true)
            }
            for words in [["state-at", "5"], ["difference", "0", "6"]] {
                var command = try Shop.parseAsRoot(["journal"] + words + ["--data", folder])
                try command.run()
            }
        }
    }

    /// The innermost places are named, in JSONPath; null is a value, and nothing is none.
    @Test(arguments: [
        (#"{"a":{"b":1,"c":2}}"#, #"{"a":{"b":1,"c":3}}"#, ["$.a.c: 2 -> 3"]),
        (#"{"a b":[1,2]}"#, #"{"a b":[1,2,null]}"#, [#"$["a b"][2]: nothing -> null"#]),
        (#"{"it's \"x\"":1}"#, #"{}"#, [#"$["it's \"x\""]: 1 -> nothing"#]),
        ("[1,2]", "{\"0\":1}", [#"$: [1,2] -> {"0":1}"#]),
        ("1", "1.5", ["$: 1 -> 1.5"]),
        ("18446744073709551615", "18446744073709551614", ["$: 18446744073709551615 -> 18446744073709551614"]),
        ("true", "1", ["$: true -> 1"]),
        (#"{"a":[{"b":null}]}"#, #"{"a":[{"b":null}]}"#, []),
    ]) func differencesAreNamedByTheirPlace(before: String, after: String, expected: [String]) throws {
        let first: JSONValue = try JSONArgument.read(before, as: "a")
        let second: JSONValue = try JSONArgument.read(after, as: "b")
        #expect(changes(from: first, to: second) == expected)
    }

    private func changes(from before: JSONValue, to after: JSONValue) -> [String] {
        JSONDifference.between(before, after).map { change in
            "\(change.path): \(change.before?.text ?? "nothing") -> \(change.after?.text ?? "nothing")"
        }
    }
}

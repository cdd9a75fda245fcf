import Foundation
import NodeTesting
import Testing

/// The program `shop` as its operator uses it: three processes, and a primary that is killed.
@Suite(.timeLimit(.minutes(3))) struct ShopTests {
    private static let count = #"{"count":{"_0":"pear"}}"#

    @Test func aShopServesSurvivesAKillAndShowsItsLog() async throws {
        try await withTemporaryFolder { folder in
            let shop = try ShopProcesses(folder: folder, nodes: 3)
            for node in 0..<3 { try shop.start(node) }
            try shop.waitUntilReady()

            let watched = folder + "/watched"
            let watch = try shop.begin("watch", "stock", Self.count, "--node", shop.address(1), output: watched)
            try sell(in: shop)
            _ = try await shop.lines(of: watched) { $0.last?.contains(#""answer":1,"#) == true }

            shop.kill(0)
            let unreachable = try shop.run("send", "flags", "{}", "--node", shop.address(0), "--timeout", "1")
            #expect(unreachable.status == 64, "what cannot be read is refused before anybody is asked: \(unreachable)")
            let alone = try shop.run("ask", "stock", Self.count, "--node", shop.address(2))
            #expect(alone.status == 0 && alone.output.contains(#""answer":1"#), "a replica answers alone: \(alone)")
            let lost = try shop.run(
                "send", "stock", #"{"sell":{"_0":"pear"}}"#, "--node", shop.address(0), "--timeout", "1")
            #expect([69, 75].contains(lost.status), "\(lost)")

            try shop.start(0)
            try shop.waitUntilReady()
            let sold = try shop.run(
                "send", "stock", #"{"restock":{"_0":"pear","pieces":5}}"#, "--node", shop.address(0))
            #expect(sold.status == 0 && sold.output.contains(#""left":6"#), "nothing was lost: \(sold)")
            let seen = try await shop.lines(of: watched) { $0.last?.contains(#""answer":6,"#) == true }
            #expect(Set(seen).count == seen.count, "each line is a change")
            watch.kill()

            try await expectEqualDigests(in: shop)
            for node in [2, 1, 0] { #expect(shop.terminate(node) == 0, "node \(node) ends in good order") }
            try expectDecodedLog(in: shop)
            try expectEqualJournals(in: shop)
        }
    }

    /// What the library advises names the program that the operator has.
    @Test func adviceNamesTheProgram() async throws {
        try await withTemporaryFolder { folder in
            let shop = try ShopProcesses(folder: folder, nodes: 1)
            for arguments in [["serve", "--listen", shop.address(0)], ["journal", "verify"], ["status"]] {
                let refused = try shop.run(arguments: arguments + ["--data", folder + "/nowhere"])
                #expect(refused.status != 0 && refused.errors.contains("\"shop init --data"), "\(refused)")
                // The folder's own name has the word.
                let words = refused.errors.replacing(folder, with: "")
                #expect(words.hasPrefix("shop: ") && !words.contains("lockstep"), "\(refused)")
            }
        }
    }

    /// Replies, rejections and mistakes, each with its exit status.
    private func sell(in shop: ShopProcesses) throws {
        let primary = shop.address(0)
        let restocked = try shop.run(
            "send", "stock", #"{"restock":{"_0":"pear","pieces":2}}"#, "--node", primary)
        #expect(restocked.status == 0, "\(restocked)")
        let reply = try object(restocked.output)
        #expect((reply["reply"] as? [String: Int]) == ["left": 2] && reply["place"] is String)
        // A replica passes an action on.
        let sold = try shop.run("send", "stock", #"{"sell":{"_0":"pear"}}"#, "--node", shop.address(1))
        #expect(sold.status == 0 && sold.output.contains(#""left":1"#), "\(sold)")
        let refused = try shop.run("send", "stock", #"{"sell":{"_0":"plum"}}"#, "--node", primary)
        #expect(refused.status == 1 && refused.errors == "shop: there is no plum left\n", "\(refused)")
        let mistaken = try shop.run("send", "stock", #"{"restock":{"_0":"pear"}}"#, "--node", primary)
        #expect(mistaken.status == 64 && mistaken.errors.split(separator: "\n").count == 1, "\(mistaken)")
        #expect(mistaken.errors.contains(#""pieces" is missing in restock"#), "\(mistaken)")
        let switched = try shop.run("send", "flags", #"{"set":{"_0":"sale","to":true}}"#, "--node", primary)
        #expect(switched.status == 0, "\(switched)")
        let asked = try shop.run("ask", "stock", Self.count, "--linearizable", "--node", shop.address(2))
        let answer = try object(asked.output)
        #expect(answer["answer"] as? Int == 1 && answer["place"] is String && answer["ageSeconds"] is Double)
        #expect(try shop.run("ask", "flags", "{}", "--node", primary).status == 64)
    }

    /// Waits until all nodes have the same digest of each store.
    private func expectEqualDigests(in shop: ShopProcesses) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let digests = try (0..<3).map { try Self.digests(of: shop, $0) }
            #expect(Set(digests[0].keys) == ["stock", "flags"])
            if digests.allSatisfy({ $0 == digests[0] }) { return }
            guard ContinuousClock.now < deadline else {
                Issue.record("the nodes do not come to the same: \(digests)")
                return
            }
            try await Task.sleep(for: .milliseconds(100))  // A poll of other processes.
        }
    }

    private static func digests(of shop: ShopProcesses, _ node: Int) throws -> [String: String] {
        let status = try object(try shop.run("status", "--data", shop.data(node), "--json", "--digest").output)
        let stores = status["stores"] as? [[String: Any]] ?? []
        return stores.reduce(into: [:]) { $0[$1["name"] as? String ?? ""] = $1["digest"] as? String }
    }

    /// The log of the killed primary: entries, states and their difference by the shop's own types.
    private func expectDecodedLog(in shop: ShopProcesses) throws {
        let dump = try shop.run("journal", "dump", "--data", shop.data(0), "--store", "stock")
        let actions = try dump.output.split(separator: "\n").map { try object($0) }.filter {
            $0["kind"] as? String == "action"
        }
        #expect(actions.count == 4, "\(dump)")
        let texts = dump.output
        #expect(texts.contains(#""decoded":{"mutations":[{"changed":{"_0":"pear","by":2}}],"reply":{"left":2}}"#))
        #expect(texts.contains(#""reply":"there is no plum left""#))
        let flags = try shop.run("journal", "dump", "--data", shop.data(0), "--store", "flags").output
        #expect(flags.contains(#""decoded":{"mutations":[{"set":{"_0":"sale","to":true}}]"#), "\(flags)")

        let first = (actions.first?["sequence"] as? Int).map(String.init) ?? ""
        let state = try shop.run("journal", "state-at", first, "--data", shop.data(0))
        #expect(state.output.contains(#""state":{"amounts":{"pear":2}}"#), "\(state)")
        let difference = try shop.run("journal", "difference", first, "--data", shop.data(0))
        #expect(
            difference.output.contains(#""changes":[{"after":6,"before":2,"path":"$.amounts.pear"}]"#), "\(difference)")
        #expect(try shop.run("journal", "verify", "--data", shop.data(0)).status == 0)
    }

    /// The journals of all nodes hold the same states.
    private func expectEqualJournals(in shop: ShopProcesses) throws {
        for store in ["stock", "flags"] {
            let states = try (0..<3).map { node in
                let report = try object(
                    try shop.run("journal", "state-at", "--data", shop.data(node), "--store", store).output)
                return try JSONSerialization.data(withJSONObject: report["state"] ?? [:], options: .sortedKeys)
            }
            #expect(Set(states).count == 1, "\(store)")
        }
    }
}

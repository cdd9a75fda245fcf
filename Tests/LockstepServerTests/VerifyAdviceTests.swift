import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepServer
import LockstepSQLite
import Testing

/// What `journal verify` advises about a folder that is damaged.
@Suite struct VerifyAdviceTests {
    /// A data node's folder is made anew, since `recover` refuses it (PROTOCOL, R-85); another one is recovered.
    @Test(arguments: [false, true]) func theAdviceIsNotRefused(isDataNode: Bool) async throws {
        try await withFolder { folder in
            var make = try Shop.parseAsRoot(["init", "--data", folder, "--node", "node-a"])
            try make.run()
            let node = NodeFolder(folder)
            var identity = try node.identity()
            identity.etcd = isDataNode ? NodeFolder.Identity.Etcd(endpoints: ["http://127.0.0.1:1"]) : nil
            try node.write(identity)
            let journal = URL(fileURLWithPath: folder + "/stock.sqlite")
            var bytes = try Data(contentsOf: journal)
            bytes[0] ^= 1
            try bytes.write(to: journal)
            var verify = try Shop.parseAsRoot(["journal", "verify", "--data", folder])
            let failure = #expect(throws: CommandFailure.self) { try verify.run() }
            #expect(failure?.status == .damaged)
            let line = try #require(failure?.message)
            #expect(line.contains("stock in 1 places"), "\(line)")
            #expect(line.contains("shop recover --data") != isDataNode, "\(line)")
            let anew = "\"shop init --etcd\", --cluster \(identity.cluster) and --node node-a"
            #expect(line.contains(anew) == isDataNode, "\(line)")
        }
    }

    /// A journal whose version is damaged is a finding, as any other damage, and the next journal is looked at, too.
    @Test func aDamagedVersionKeepsNoOtherJournalBack() async throws {
        try await withFolder { folder in
            var make = try Shop.parseAsRoot(["init", "--data", folder, "--node", "node-a"])
            try make.run()
            let request = JournalRequest(cluster: nil, storeName: "stock", nodeName: "node-a")
            let journal = try SQLiteJournal(folder: folder, request: request, create: false)
            try journal.openForRepair()
            var builder = BatchBuilder(
                store: journal.identity.store, epoch: Epoch(rawValue: 1), after: journal.head,
                time: LogTime(rawValue: 1_000))
            builder.append(
                .epochOpen(node: "node-a", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 1)))
            let batch = builder.sealed()
            try journal.appendRecovered([batch])
            journal.close()

            // PRAGMA user_version, 2^20.
            let first = URL(fileURLWithPath: folder + "/deliveries.sqlite")
            var header = try Data(contentsOf: first)
            header.replaceSubrange(60..<64, with: [0, 0x10, 0, 0])
            try header.write(to: first)
            let second = URL(fileURLWithPath: folder + "/stock.sqlite")
            var bytes = try Data(contentsOf: second)
            let place = try #require(bytes.range(of: Data(batch.bytes)))
            bytes[place.upperBound - 1] ^= 1
            try bytes.write(to: second)

            var verify = try Shop.parseAsRoot(["journal", "verify", "--data", folder])
            let failure = #expect(throws: CommandFailure.self) { try verify.run() }
            #expect(failure?.status == .damaged)
            let line = failure?.message ?? ""
            #expect(line.contains("deliveries in 1 places, stock in "), "\(line)")
        }
    }
}

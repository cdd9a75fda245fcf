import Foundation
import LockstepFolders
import LockstepServer
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
}

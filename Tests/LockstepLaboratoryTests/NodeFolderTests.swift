import Foundation
import LockstepFolders
import LockstepNode
import Testing

/// `node.json` is what was written, or is refused.
@Suite struct NodeFolderTests {
    private let folder = NodeFolder(NSTemporaryDirectory() + "lockstep-\(UUID().uuidString)")
    private static let plain = NodeFolder.Identity(
        node: "primary", cluster: "000102030405060708090a0b0c0d0e0f", stores: ["counters", "search"])
    private static let ofDataNode = NodeFolder.Identity(
        node: "primary", cluster: "000102030405060708090a0b0c0d0e0f", stores: ["counters", "search"],
        etcd: .init(
            endpoints: ["https://10.0.0.1:2379", "https://10.0.0.2:2379"], authority: "ca.pem", certificate: "a.pem",
            key: "a.key", prefix: "/other", plaintext: true))

    private func written(_ identity: NodeFolder.Identity = plain) throws -> [UInt8] {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try folder.write(identity)
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.identityPath)))
    }

    /// Goal: no flipped bit renames a node, or gives it another cluster or other stores, without a word.
    ///
    /// Method: every bit, one at a time.
    @Test(arguments: [plain, ofDataNode]) func noFlippedBitIsSilent(identity: NodeFolder.Identity) throws {
        let bytes = try written(identity)
        defer { try? FileManager.default.removeItem(atPath: folder.path) }  // The next test has its own.
        var refused = 0
        for bit in 0..<(bytes.count * 8) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            try Data(flipped).write(to: URL(fileURLWithPath: folder.identityPath))
            do {
                let found = try folder.identity()
                #expect(found.node == identity.node && found.cluster == identity.cluster, "bit \(bit)")
                #expect(found.stores == identity.stores && found.etcd == identity.etcd, "bit \(bit)")
            } catch let error as LockstepError {
                #expect(error.code == .journalDamaged)
                refused += 1
            }
        }
        #expect(refused > bytes.count)
    }

    /// Goal: a file from before there was a checksum is still read.
    @Test func aFileWithoutAChecksumIsRead() throws {
        _ = try written()
        defer { try? FileManager.default.removeItem(atPath: folder.path) }  // The next test has its own.
        let text = #"{"cluster": "000102030405060708090a0b0c0d0e0f", "node": "other", "stores": ["counters"]}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.identityPath))
        #expect(try folder.identity().node == "other")
    }

    /// Goal: nobody is told to run a command as root, which would make files that the node's user may not use.
    @Test func aFolderOfRootIsToBeGivenToItsUser() {
        let folder = NodeFolder("/var/lib/a node")
        let told = folder.advice(to: 65_534, ownedBy: 0)
        #expect(!told.contains("sudo") && told.hasSuffix("(chown -R USER '/var/lib/a node')"), "\(told)")
        #expect(folder.advice(to: 1, ownedBy: 65_534).hasSuffix("so run this as that user (sudo -u nobody)"))
        for owner in [nil, 65_534] as [UInt32?] {
            #expect(folder.advice(to: 65_534, ownedBy: owner) == "run this as the user that the node runs as")
        }
    }
}

import Foundation
import LockstepCore
import LockstepNode
import Testing
import ZeroMQ

/// The keys of a test's nodes, and their access list in a file of its own.
final class Keyring: Sendable {
    let folder: URL
    let primary: CurveKeyPair
    let replica: CurveKeyPair
    let writer: CurveKeyPair
    let reader: CurveKeyPair
    let admin: CurveKeyPair
    let stranger: CurveKeyPair

    /// Makes keys, and a list that has all but the stranger's.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("access-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        primary = try CurveKeyPair.generate()
        replica = try CurveKeyPair.generate()
        writer = try CurveKeyPair.generate()
        reader = try CurveKeyPair.generate()
        admin = try CurveKeyPair.generate()
        stranger = try CurveKeyPair.generate()
        try write(entries)
    }

    deinit {
        // What is left in the temporary folder harms nobody.
        try? FileManager.default.removeItem(at: folder)
    }

    var file: AccessFile { AccessFile(path: folder.appendingPathComponent("access.json").path) }

    var entries: [AccessList.Entry] {
        [
            .init(name: "node-a", keys: [primary.publicKey], roles: [.node]),
            .init(name: "node-b", keys: [replica.publicKey], roles: [.replica]),
            .init(name: "web-1", keys: [writer.publicKey], roles: [.writer]),
            .init(name: "page-1", keys: [reader.publicKey], roles: [.reader]),
            .init(name: "ops", keys: [admin.publicKey], roles: [.admin]),
        ]
    }

    /// Puts another list in the place of the file's.
    func write(_ entries: [AccessList.Entry]) throws {
        try write(text: String(decoding: try AccessList(entries).json, as: UTF8.self))
    }

    func write(text: String) throws {
        let new = folder.appendingPathComponent("new.json")
        try Data(text.utf8).write(to: new)
        guard rename(new.path, file.path) == 0 else { throw POSIXError(.EIO) }
    }

    /// What a node at `endpoint` is told with these keys.
    func dial(_ keys: CurveKeyPair) -> DialKeys { DialKeys(own: keys, server: primary.publicKey) }

    /// A primary with keys.
    func primaryNode(
        listen: String = "tcp://127.0.0.1:0", journal: JournalSource = .memory, keys: CurveKeyPair? = nil
    ) -> NodeConfiguration {
        var configuration = NodeConfiguration.primary(listen: listen, journal: journal)
        configuration.node = name("node-a")
        configuration.keys = NodeKeys(own: keys ?? primary, access: file)
        return configuration
    }

    /// A client, or another node, that knows the primary's key.
    func node(_ configuration: NodeConfiguration, _ own: CurveKeyPair, named text: String, of endpoint: String)
        -> NodeConfiguration
    {
        var configuration = configuration
        configuration.node = name(text)
        configuration.keys = NodeKeys(own: own, nodes: [endpoint: [primary.publicKey]])
        return configuration
    }

    private func name(_ text: String) -> NodeID {
        guard let node = NodeID(text) else { preconditionFailure("\(text) is no name") }
        return node
    }
}

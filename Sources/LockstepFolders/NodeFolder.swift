import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite

/// A node's data folder as `lockstep init` makes it: `node.json` beside the journals.
package struct NodeFolder {
    /// What `node.json` holds.
    package struct Identity: Codable, Hashable, Sendable {
        package var node: String
        package var cluster: String
        package var stores: [String]
        /// The node's key file, and its access list; as they are noted, which ``NodeFolder/resolved(_:)`` makes paths of.
        package var keys: String?
        package var access: String?
        /// Who keeps the configuration records of a data node's stores; nil of a node that is none.
        package var etcd: Etcd?
        package init(
            node: String, cluster: String, stores: [String], keys: String? = nil, access: String? = nil,
            etcd: Etcd? = nil
        ) {
            self.node = node
            self.cluster = cluster
            self.stores = stores
            self.keys = keys
            self.access = access
            self.etcd = etcd
        }

        /// An etcd, and how it is reached; files as they are noted.
        package struct Etcd: Codable, Hashable, Sendable {
            package var endpoints: [String]
            package var authority: String?
            package var certificate: String?
            package var key: String?
            /// Before every key; nil: the usual one.
            package var prefix: String?
            /// Whether plain text may go beyond loopback addresses; nil: no.
            package var plaintext: Bool?

            package init(
                endpoints: [String], authority: String? = nil, certificate: String? = nil, key: String? = nil,
                prefix: String? = nil, plaintext: Bool? = nil
            ) {
                self.endpoints = endpoints
                self.authority = authority
                self.certificate = certificate
                self.key = key
                self.prefix = prefix
                self.plaintext = plaintext
            }

            /// Everything, for the checksum.
            fileprivate var texts: [String] {
                ["/etcd"] + endpoints + ["/files", authority ?? "", certificate ?? "", key ?? "", prefix ?? ""]
                    + (plaintext == true ? ["/plaintext"] : [])
            }
        }
    }

    package let path: String
    package var identityPath: String { path + "/node.json" }
    package var administration: String { path + "/admin" }

    package init(_ path: String) {
        self.path = path.hasSuffix("/") && path.count > 1 ? String(path.dropLast()) : path
    }

    /// Where a noted file is: beside `node.json`, unless its path begins at the root.
    package func resolved(_ noted: String) -> String { noted.hasPrefix("/") ? noted : path + "/" + noted }

    /// What is noted of a file, so that it is found from any folder, and also when this one has moved.
    package func noted(_ file: String) -> String {
        let own = path + "/"
        if file.hasPrefix(own) { return String(file.dropFirst(own.count)) }
        if file.hasPrefix("/") { return file }
        return FileManager.default.currentDirectoryPath + "/" + file
    }

    /// Reads `node.json`.
    ///
    /// - Throws: ``LockstepError``: `invalidConfiguration` where no node's folder is, `journalDamaged` for a file that is not
    ///   what was written or is missing beside journals, `administration` where this user may not read.
    package func identity() throws -> Identity {
        let stored: StoredIdentity
        do {
            stored = try JSONDecoder().decode(StoredIdentity.self, from: try identityBytes())
        } catch let error as DecodingError {
            throw damaged("\(error.plainText); put back the file of this node")
        }
        guard stored.sum == nil || stored.sum == StoredIdentity(stored.identity).sum else {
            throw damaged(
                "its sum does not match; put back the file of this node, or take \"sum\" out of it if you changed it by "
                    + "hand")
        }
        guard NodeID(stored.node) != nil, ClusterID(hexadecimal: stored.cluster) != nil else {
            throw damaged("its name or its cluster's ID is none; put back the file of this node")
        }
        return stored.identity
    }

    /// Writes the file so that it survives a power cut, and is there as a whole or not at all.
    ///
    /// An atomic write of `Data` does neither: it takes a short write, as a disk has that is about to be full, for a
    /// whole one, and does not sync the name.
    package func write(_ identity: Identity) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        let part = identityPath + ".part"
        do {
            let data = try encoder.encode(StoredIdentity(identity))
            try Data().write(to: URL(fileURLWithPath: part))
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: part))
            try file.write(contentsOf: data)
            try file.synchronize()
            try file.close()
        } catch {
            throw LockstepError(.journalUnwritable, "\(identityPath) cannot be written: \(error.localizedDescription)")
        }
        guard rename(part, identityPath) == 0 else {
            throw LockstepError(
                .journalUnwritable, "\(identityPath) cannot be written: \(String(cString: strerror(errno)))")
        }
        try syncFolder(path)
    }
}

/// The file itself: the identity and a checksum of it, without which a flipped bit would rename a node.
///
/// Files from before there was one have none.
private struct StoredIdentity: Codable {
    var node: String
    var cluster: String
    var stores: [String]
    var keys: String?
    var access: String?
    var etcd: NodeFolder.Identity.Etcd?
    var sum: String?

    init(_ identity: NodeFolder.Identity) {
        node = identity.node
        cluster = identity.cluster
        stores = identity.stores
        keys = identity.keys
        access = identity.access
        etcd = identity.etcd
        var writer = ByteWriter()
        for text in [node, cluster] + stores { writer.writeString(text) }
        // After a word that no store can be called; nothing where nothing is noted, as in files from before.
        if keys != nil || access != nil {
            for text in ["/keys", keys ?? "", access ?? ""] { writer.writeString(text) }
        }
        for text in etcd?.texts ?? [] { writer.writeString(text) }
        var checksum = CRC32C()
        withBytes(of: writer.bytes) { checksum.update($0, 0..<writer.count) }
        sum = String(checksum.value, radix: 16)
    }

    var identity: NodeFolder.Identity {
        NodeFolder.Identity(
            node: node, cluster: cluster, stores: stores, keys: keys, access: access, etcd: etcd)
    }
}

import Foundation
import LockstepFolders
import LockstepNode
import ZeroMQ

/// The keys of a node that `init` makes, and its entry in the access list.
struct NewNodeKeys {
    let folder: NodeFolder
    /// The key file that was named.
    let file: String?
    let access: String
    let address: String?

    /// Makes the keys or takes those that are there, notes both files, and lets the node into the list if it has an address.
    ///
    /// It can be repeated, as all of `init` can.
    func make(_ identity: inout NodeFolder.Identity, _ cluster: ClusterID) throws -> PublicKeyLine {
        let path = file ?? folder.path + "/node.key"
        let isThere = FileManager.default.fileExists(atPath: path)
        let key = isThere ? try KeyFile(reading: path) : try KeyFile.make(name: identity.node, at: path)
        guard key.name == identity.node else {
            throw CommandFailure("\(path) has the keys of \(key.name), not of \(identity.node)", status: .usage)
        }
        if let address { try allow(key, at: address, cluster) }
        identity.keys = folder.noted(path)
        identity.access = folder.noted(access)
        return PublicKeyLine(key)
    }

    private func allow(_ key: KeyFile, at address: String, _ cluster: ClusterID) throws {
        _ = try AccessList.edit(access, makes: true) { list in
            guard list.cluster == nil || list.cluster == cluster else {
                throw CommandFailure(
                    "\(access) is the list of cluster \(list.cluster.map { "\($0)" } ?? ""), not of \(cluster)")
            }
            list = try AccessList(list.entries, cluster: cluster)
            try list.change(key.name) { old in
                var entry = old ?? AccessList.Entry(name: key.name, keys: [], roles: [.node])
                try entry.add(key.pair.publicKey)
                entry.address = address
                return entry
            }
        }
    }
}

import Foundation
import LockstepFolders
import LockstepNode

/// Reads a cluster's ID from the command line.
package func parseCluster(_ text: String) throws -> ClusterID {
    guard let cluster = ClusterID(hexadecimal: text) else {
        throw CommandFailure("\(text) is not a cluster ID: it has 32 hexadecimal digits", status: .usage)
    }
    // A node says that to mean that it belongs to none yet.
    guard cluster != ClusterID(rawValue: 0) else {
        throw CommandFailure("\(text) is not a cluster ID: all its digits are 0", status: .usage)
    }
    return cluster
}

/// Reads the addresses of one node or several, with commas between them, from the command line.
///
/// Whether they are addresses the node's configuration says.
package func parseNodes(_ text: String) -> [String] {
    text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
}

/// Reads a node's name from the command line.
package func parseNode(_ text: String) throws -> NodeID {
    guard let node = NodeID(text) else {
        throw CommandFailure(
            "\(text) is not a node's name: use 1 to 64 letters, digits, '-', '_' and '.'", status: .usage)
    }
    return node
}

extension NodeFolder.Identity {
    /// - Throws: ``CommandFailure`` if a store is named that the node of the folder at `path` does not have.
    func check(store: String?, in path: String) throws {
        guard let store, !stores.contains(store) else { return }
        throw CommandFailure("\(path) has no store \(store), but \(stores.joined(separator: ", "))", status: .usage)
    }
}

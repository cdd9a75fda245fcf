import Foundation
import LockstepNode

/// Reads a cluster's ID from the command line.
package func parseCluster(_ text: String) throws -> ClusterID {
    guard let cluster = ClusterID(hexadecimal: text) else {
        throw CommandFailure("\(text) is not a cluster ID: it has 32 hexadecimal digits", status: .usage)
    }
    return cluster
}

/// Reads a node's name from the command line.
package func parseNode(_ text: String) throws -> NodeID {
    guard let node = NodeID(text) else {
        throw CommandFailure(
            "\(text) is not a node's name: use 1 to 64 letters, digits, '-', '_' and '.'", status: .usage)
    }
    return node
}

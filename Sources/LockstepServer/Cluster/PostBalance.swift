package import LockstepCore

/// Which posts a node should give to whom, so that all nodes lead about as many stores.
package struct PostBalance {
    /// One post that is to go to another node.
    package struct Move: Hashable, Sendable {
        package var store: String
        package var to: NodeID

        package init(store: String, to: NodeID) { (self.store, self.to) = (store, to) }
    }

    private let records: [(store: String, record: ConfigurationRecord)]
    private let listed: Set<NodeID>

    /// Of these stores, with the nodes that are there.
    package init(_ records: [String: ConfigurationRecord], listed: [NodeID]) {
        self.records = records.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        self.listed = Set(listed)
    }

    /// What `node` should give away, in the order of the stores' names: each move makes two nodes more equal.
    ///
    /// Only to a member that is listed, and leads at least two stores fewer.
    package func moves(of node: NodeID) -> [Move] {
        var counts: [NodeID: Int] = [:]
        for (_, record) in records { counts[record.primary.member.node, default: 0] += 1 }
        var moves: [Move] = []
        for (store, record) in records where record.primary.member.node == node {
            let others = record.inSync.map(\.node).filter { $0 != node && listed.contains($0) }
            let next = others.min { (counts[$0, default: 0], $0) < (counts[$1, default: 0], $1) }
            guard let next, counts[next, default: 0] + 2 <= counts[node, default: 0] else { continue }
            counts[node, default: 0] -= 1
            counts[next, default: 0] += 1
            moves.append(Move(store: store, to: next))
        }
        return moves
    }
}

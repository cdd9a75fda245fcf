public import Lockstep
import LockstepCore
import LockstepSimulator

// What can be seen of a cluster. None of it lets virtual time pass, or changes the run.

extension TestCluster {
    /// The committed state that a node has in its memory now.
    ///
    /// - Throws: ``TestClusterError/notRunning(_:)``.
    public func state(of node: ClusterProcess) throws(TestClusterError) -> R.State {
        let view = try view(of: node)
        // A primary that has something under way works with a state that nobody else sees yet.
        return typed(view.position == view.committed ? view.state : view.committedState).workingState
    }

    /// The states of all nodes that run, in the order of ``nodes``.
    public var states: [R.State] { nodes.compactMap { node in try? state(of: node) } }  // those that are down have none

    /// The last committed entry that a node's state includes.
    ///
    /// - Throws: ``TestClusterError/notRunning(_:)``.
    public func position(of node: ClusterProcess) throws(TestClusterError) -> Place {
        let committed = try view(of: node).committed
        return Place(epoch: committed.epoch, sequence: committed.sequence)
    }

    /// The digest of a node's committed state.
    ///
    /// - Throws: ``TestClusterError/notRunning(_:)``.
    public func digest(of node: ClusterProcess) throws(TestClusterError) -> Digest {
        StateDigest.digest(of: try state(of: node))
    }

    /// Whether a process runs and does its work: a primary takes actions, a replica or another data node is on the stream.
    public func isLive(_ process: ClusterProcess) -> Bool {
        let index = index(of: process)
        return simulation.node(index)?.isLive ?? (index >= nodes.count && simulation.isUp(index))
    }

    /// The primary and the replicas, or the data nodes.
    public var nodes: [ClusterProcess] {
        dataNodes > 0
            ? (1...dataNodes).map(ClusterProcess.dataNode) : [.primary] + (1...replicas).map(ClusterProcess.replica)
    }

    /// The node that takes actions now; nil while none does.
    ///
    /// Of data nodes that believe to lead, it is the one of the latest epoch.
    public var leader: ClusterProcess? {
        guard isLive(.primary) else { return nil }
        return dataNodes > 0 ? .dataNode(index(of: .primary) + 1) : .primary
    }

    /// A number that two runs have in common only if all that happened in them is the same, to the frame.
    public var traceHash: UInt64 { simulation.traceHash }

    /// The last thousand things that happened: virtual seconds, process, what, and its numbers.
    public var trace: [String] { simulation.traceText }

    private func view(of node: ClusterProcess) throws(TestClusterError) -> NodeView {
        let index = index(of: node)
        precondition(index < nodes.count, "\(node) is no node: it has no state")
        guard let view = simulation.node(index) else { throw .notRunning(node) }
        return view
    }

    private func typed(_ state: any ReplicatedState) -> ReactorState<R> {
        guard let state = state as? ReactorState<R> else { preconditionFailure("another reactor's state") }
        return state
    }

    // MARK: - What a broken promise is about

    /// The entry after which states differ, and where they do: nodes at one place against what the log gives there.
    var explanation: (entry: String?, differences: [StateDifference]) {
        let views = nodes.compactMap { node in simulation.node(index(of: node)).map { (node, $0) } }
        for (_, place) in views {
            guard let known = simulation.checked(place.position),
                let expected = known.remembered as? Snapshot<R.State>
            else { continue }
            let there = views.filter { $0.1.position == place.position }
            let owners = there.map { node, view in
                (name: "\(node)", parts: StateDigest.parts(of: typed(view.state).workingState))
            }
            let log = (name: "the log, replayed", parts: StateDigest.parts(of: expected.state))
            let differences = StateDifference.between(owners + [log])
            if !differences.isEmpty { return (entryText(known.batch), differences) }
        }
        return (nil, [])
    }

    /// Where the mutations of an entry are.
    private func mutationRanges(of entry: Entry, _ bytes: RawSpan) -> [Range<Int>] {
        let items: Range<Int>
        switch entry {
        case .actions(let run): items = run.items
        case .finished(_, _, let item): items = item
        case .emitted(_, let range):
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            guard (try? reader.readVarint(from: bytes)) != nil else { return [] }
            return [reader.offset..<range.upperBound]
        default: return []
        }
        var reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
        var ranges: [Range<Int>] = []
        while reader.remaining > 0, let item = try? Item(from: bytes, &reader) { ranges.append(item.mutations) }
        return ranges
    }

    /// What the mutations of a batch are, in words.
    private func entryText(_ batch: SealedBatch) -> String {
        var mutations: [String] = []
        var count = 0
        withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            while reader.remaining > 0, let entry = try? Entry(from: bytes, &reader) {
                for range in mutationRanges(of: entry, bytes) {
                    var inside = ByteReader(offset: range.lowerBound, end: range.upperBound)
                    while inside.remaining > 0, let range = try? inside.readRange(from: bytes) {
                        count += 1
                        guard mutations.count < 8, let mutation = try? R.mutationCoding.decode(bytes, range) else {
                            continue
                        }
                        mutations.append(String(describing: mutation))
                    }
                }
            }
        }
        let (first, last) = (batch.head.first, batch.head.last)
        let place = first == last ? "\(first)" : "one of \(first) to \(last)"
        let more = count > mutations.count ? ", and \(count - mutations.count) more" : ""
        return "\(place), \(mutations.joined(separator: ", "))\(more)"
    }
}

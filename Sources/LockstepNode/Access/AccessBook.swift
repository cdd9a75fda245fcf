internal import LockstepCore
internal import Logging

/// The access list of a node, as its file has it; on the node's thread.
///
/// A text of the file that cannot be used changes nothing (PROTOCOL, R-70).
final class AccessBook {
    /// What holds now.
    private(set) var list: AccessList
    /// Why the newest text of the file is not used; nil while it is.
    private(set) var problem: String?
    /// When the file is to be looked at.
    private(set) var nextLook = Tick.zero
    private let watch: AccessWatch
    private let logger: Logger

    /// A change holds within a second: a look, the reading, and a turn of the node.
    private static let lookMilliseconds: Int64 = 400

    /// Reads the list; `signal` wakes the node's thread, from any thread.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` if the list cannot be used.
    init(_ file: AccessFile, logger: Logger, signal: @escaping @Sendable () -> Void) throws {
        list = try file.read()
        watch = AccessWatch(file, signal: signal)
        self.logger = logger
        AccessMetrics.show(list, isUnusable: false)
    }

    /// Whether something was found that ``look(now:)`` takes.
    var isWaiting: Bool { watch.isWaiting }

    /// Looks at the file when it is time; returns true if another list holds now, which is one of the node's `cluster`, as
    /// far as that is known.
    func look(now: Tick, cluster: ClusterID?) -> Bool {
        if now >= nextLook {
            nextLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
            watch.look()
        }
        switch watch.take() {
        case nil: return false
        case .failure(let error)?:
            refuse((error as? LockstepError)?.message ?? "\(error)")
            return false
        case .success(let new)?: return change(to: new, cluster: cluster)
        }
    }

    /// Says once why a text is not used.
    private func refuse(_ text: String) {
        guard text != problem else { return }
        problem = text
        logger.warning(
            "the access list was changed and cannot be used: the list from before stays",
            metadata: [LogKey.reason: "\(text)"])
        AccessMetrics.show(list, isUnusable: true)
    }

    private func change(to new: AccessList, cluster: ClusterID?) -> Bool {
        if let own = cluster ?? list.cluster, let other = new.cluster, own != other {
            refuse("it is of cluster \(other), and this node belongs to cluster \(own)")
            return false
        }
        if problem.take() != nil {
            logger.notice("the access list can be used again")
            AccessMetrics.show(list, isUnusable: false)
        }
        guard new != list else { return false }
        list = new
        AccessMetrics.show(new, isUnusable: false)
        logger.info("the access list has changed", metadata: [LogKey.count: "\(new.entries.count)"])
        return true
    }

    /// Checks that the list is of the node's cluster, where both say which.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`.
    func check(cluster: ClusterID?) throws {
        guard let own = cluster, let other = list.cluster, own != other else { return }
        throw AccessList.refusal("it is of cluster \(other), and this node belongs to cluster \(own)")
    }
}

package import LockstepCore

/// Where a node keeps its log: what a configuration names.
///
/// `import LockstepSQLite` adds `.sqlite(at:create:)`.
public struct JournalSource: Sendable, CustomStringConvertible {
    /// A line for logs and status.
    public let description: String
    /// Where its files are, for messages; nil if it has none.
    package var folder: String?
    /// Opens, or creates, the journal of one store; throws ``LockstepError``.
    package let open: @Sendable (JournalRequest) throws -> any Journal

    package init(description: String, open: @escaping @Sendable (JournalRequest) throws -> any Journal) {
        self.description = description
        self.open = open
    }

    /// A journal that does not outlive the process: sessions and state are gone after a restart (PROTOCOL, R-43).
    public static let memory = JournalSource(description: "memory") { MemoryJournal($0) }
}

/// What a node asks of its source for one store.
package struct JournalRequest: Sendable {
    /// The cluster that the journal must belong to, unless it belongs to none yet; none takes an existing journal's, and a new one for a new journal.
    ///
    /// A node with several stores asks for the first and names that one's cluster for the others.
    package var cluster: ClusterID?
    package var storeName: String
    /// Names the node in messages to operators.
    package var nodeName: String
    /// The channel of a journal that is created; an existing one keeps its own (PROTOCOL, R-4).
    package var channel: Channel
    /// A replica asks: without a cluster, a journal that is created belongs to none until it adopts one.
    package var isForReplica = false
    /// A data node asks, which has an arbiter: any other is refused a journal that is marked as arbitrated.
    package var isForDataNode = false

    package init(cluster: ClusterID?, storeName: String, nodeName: String, channel: Channel = Channel(rawValue: 0)) {
        self.cluster = cluster
        self.storeName = storeName
        self.nodeName = nodeName
        self.channel = channel
    }
}

/// What an operator decided, or must decide, about a store; kept with its journal.
package enum JournalNote: String, Hashable, Sendable, CaseIterable {
    /// The position up to which an operator accepted the loss of a history, as ``KnownPosition/noteText``
    /// (PROTOCOL, R-41).
    case lossAccepted
    /// The position that the alarm PRIMARY_BEHIND of the last boot named, in the same form.
    case reportedBehind
    /// The time, in microseconds since 1970, at which an operator accepted the clock.
    case clockAccepted
    /// The names of the replicas that the primary last had, with commas between them.
    case audience
    /// The journal's role, a ``JournalRole``.
    case role
    /// What the side mark said when an operator began to recover a journal that a start refuses, in the form of a
    /// ``KnownPosition/noteText``. A start refuses it until the recovery has ended.
    case recovering
}

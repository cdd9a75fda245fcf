package import Foundation

/// A running node as an operator sees it; the answer to `lockstep status --json`.
public struct NodeStatus: Codable, Hashable, Sendable {
    /// The node's name.
    public var node: String
    /// What it is for its stores.
    public var role: Role
    /// The cluster's ID in hexadecimal; `nil` while a node has not learnt it.
    public var cluster: String?
    /// The ID of this life of the process, in hexadecimal.
    public var boot: String
    /// The process's number on its host.
    public var process: Int
    /// How long the node has run.
    public var uptimeSeconds: Double
    /// Where clients and replicas connect; `nil` if nowhere.
    public var endpoint: String?
    /// The endpoint that the node follows; `nil` if there is none.
    ///
    /// A replica or a client was told it. Of a data node it is that of the primary of the first of its stores whose
    /// primary is another node.
    public var primary: String?
    /// Whether the node talks to other hosts without keys, so that anybody on their network may read and write.
    public var isPlaintext: Bool?
    /// Who may talk to the node, and whom it knows; `nil` without an access list.
    public var access: Access?
    /// The node's stores in the order of their names.
    public var stores: [StoreStatus]

    /// The access list of a node with keys.
    public struct Access: Codable, Hashable, Sendable {
        /// How many names it has.
        public var entries: Int
        /// Why the newest text of its file is not used, and the list before still holds; `nil` while it is used.
        public var problem: String?
    }
}

/// One store of a running node.
public struct StoreStatus: Codable, Hashable, Sendable {
    /// The store's name.
    public var name: String
    /// Its number in frames; `nil` while a replica or client has not learnt it.
    public var channel: Int?
    /// How far it is.
    public var phase: Phase
    /// The ID of the journal's life, in hexadecimal; `nil` without a journal.
    public var incarnation: String?
    /// Whether nothing survives the process.
    public var isVolatile: Bool
    /// The epoch of ``sequence``.
    public var epoch: UInt64
    /// The last entry in the state: on a primary also what has not committed.
    public var sequence: UInt64
    /// The commit number.
    public var commit: UInt64
    /// The chain's hash at ``commit``, in hexadecimal.
    public var hash: String
    /// Log time at ``commit``, in microseconds since 1970.
    public var time: Int64
    /// The digest of state and sessions at ``sequence``, in hexadecimal.
    ///
    /// `nil` without a state, and unless ``mark`` stands at ``sequence``, as it does in a store at rest, or the question
    /// asked for digests: taking one is a walk over the state, on the node's thread.
    public var digest: String?
    /// The newest entry with a digest, and that digest: what nodes are compared by.
    public var mark: Mark?
    /// Open sessions, in the order of their opening; the first 1,000.
    public var sessions: [Session]
    /// How many sessions there are.
    public var sessionCount: Int
    /// Of a primary, the nodes and clients that it hears of, replicas first; the first 1,000.
    public var peers: [Peer]
    /// How many of them there are.
    public var peerCount: Int
    /// Of a primary, replicas that it has heard in this life of its process and hears no more; not those that were stopped
    /// in order.
    public var lostReplicas: [Peer]
    /// Of a replica, how many entries its primary is known to have that it has not; 0 on a primary.
    ///
    /// `nil` while a replica has no primary, since nobody knows then.
    public var lag: UInt64?
    /// Of a replica, how long it has heard nothing of its primary; `nil` if it never did, and on a primary.
    public var primarySilentSeconds: Double?
    /// Actions of this node's callers that have no answer yet.
    public var unanswered: Int
    /// Events since the start, by name.
    public var counters: [String: UInt64]
    /// The journal; `nil` without one.
    public var journal: Journal?
    /// What an operator must see and has not ended.
    public var alarms: [Alarm]
    /// Of a data node, what it is for the store; `nil` of any other.
    public var dataNode: DataNode?

    /// A digest and where it was taken.
    public struct Mark: Codable, Hashable, Sendable {
        /// The entry that holds the digest.
        public var sequence: UInt64
        /// The digest in hexadecimal.
        public var digest: String
    }

    /// An open session.
    public struct Session: Codable, Hashable, Sendable {
        /// `epoch:sequence` of the entry that opened it.
        public var id: String
        /// The client's key in hexadecimal.
        public var client: String
        /// The highest request number in the log.
        public var last: UInt64
        /// The highest number whose answer the client has.
        public var acked: UInt64
    }

    /// A node or client that a primary hears of.
    public struct Peer: Codable, Hashable, Sendable {
        /// Its name.
        public var node: String
        /// What it is: a replica or a client.
        public var role: NodeStatus.Role
        /// What it last said that it has applied.
        public var applied: UInt64
        /// How far that is behind the commit number.
        public var lag: UInt64
        /// The newest entry with a digest that it said it has applied, and its digest there; `nil` until it has one.
        public var mark: Mark?
        /// How long it has said nothing; one that is there says something each second.
        public var silentSeconds: Double
    }

    /// A store's journal.
    public struct Journal: Codable, Hashable, Sendable {
        /// Bytes of batches after the newest snapshot.
        public var batchBytes: Int
        /// Bytes of the newest snapshot.
        public var snapshotBytes: Int
        /// Bytes free where it writes; `nil` if it has no such bound.
        public var freeBytes: Int64?
    }
}

extension StoreStatus {
    /// Every field, so that whoever reads it need not guess what is missing: what is not known is `null`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(channel, forKey: .channel)
        try container.encode(phase, forKey: .phase)
        try container.encode(incarnation, forKey: .incarnation)
        try container.encode(isVolatile, forKey: .isVolatile)
        try container.encode(epoch, forKey: .epoch)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(commit, forKey: .commit)
        try container.encode(hash, forKey: .hash)
        try container.encode(time, forKey: .time)
        try container.encode(digest, forKey: .digest)
        try container.encode(mark, forKey: .mark)
        try container.encode(sessions, forKey: .sessions)
        try container.encode(sessionCount, forKey: .sessionCount)
        try container.encode(peers, forKey: .peers)
        try container.encode(peerCount, forKey: .peerCount)
        try container.encode(lostReplicas, forKey: .lostReplicas)
        try container.encode(lag, forKey: .lag)
        try container.encode(primarySilentSeconds, forKey: .primarySilentSeconds)
        try container.encode(unanswered, forKey: .unanswered)
        try container.encode(counters, forKey: .counters)
        try container.encode(journal, forKey: .journal)
        try container.encode(alarms, forKey: .alarms)
        try container.encode(dataNode, forKey: .dataNode)
    }
}

extension NodeStatus {
    /// One line of JSON, with sorted keys.
    package func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

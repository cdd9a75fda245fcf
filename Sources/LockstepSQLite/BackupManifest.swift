package import LockstepCore

/// What a backup says of itself: the one row of its table `manifest`, as JSON (decision 0027).
package struct BackupManifest: Codable, Hashable, Sendable {
    /// Names this backup for ever: 32 hexadecimal digits.
    package var id: String
    /// The ``id`` of the backup after which this one goes on; nil of a full backup.
    package var since: String?
    /// The ``id``s of the backups that this one goes back to, the oldest first, as far as they were known.
    ///
    /// Nil of a full backup, and in files from before they were noted.
    package var chain: [String]?
    package var cluster: String
    /// The node that it was made of.
    package var node: String
    /// The role in which the node was served; nil if it never was.
    package var role: String?
    /// Whether the node was a data node (PROTOCOL, R-75); nil if it was none.
    package var isDataNode: Bool?
    /// When it was begun, in seconds since 1970.
    package var made: Int64
    /// Those that the writer ended.
    package internal(set) var stores: [Store] = []

    /// Makes the manifest of a backup that has no store yet; of a full one without `since` and `chain`.
    package init(
        id: String, since: String?, chain: [String]? = nil, cluster: String, node: String, role: String?,
        isDataNode: Bool = false, made: Int64
    ) {
        self.id = id
        self.since = since
        self.chain = chain
        self.cluster = cluster
        self.node = node
        self.role = role
        self.isDataNode = isDataNode ? true : nil
        self.made = made
    }

    /// What a backup holds of one store.
    package struct Store: Codable, Hashable, Sendable {
        package var name: String
        package var channel: UInt16
        /// Of the journal that it was made of (PROTOCOL, R-2).
        package var incarnation: String
        /// The replicas that the primary had, for a restored one to wait for (PROTOCOL, R-48).
        package var audience: [String]
        /// The place that the batches go on from; nil if this is the whole store.
        package var since: Place?
        /// The place at which the store is after all of it.
        package var end: Place
        /// Where the snapshot stands that the batches follow; nil if there is none.
        package var snapshot: Place?
        package var snapshotBytes: Int
        package var batches: Int
        package var batchBytes: Int
        /// Of the log's own tables at ``end``.
        package var tablesBytes: Int
        /// The rows of the table `parts` that belong to it.
        package var firstPart: Int64
        package var parts: Int64
        /// Over kind, length and hash of each part, in their order.
        package var sum: String

        /// Whether nothing but this file is needed for the store.
        package var isWhole: Bool { since == nil }
    }

    /// A ``Position`` in JSON.
    package struct Place: Codable, Hashable, Sendable, CustomStringConvertible {
        package var epoch: UInt64
        package var sequence: UInt64
        package var hash: String

        package init(_ position: Position) {
            epoch = position.epoch.rawValue
            sequence = position.sequence.rawValue
            hash = "\(position.hash)"
        }

        /// Nil if the hash is none, or a number is out of range.
        package var position: Position? {
            guard let hash = BatchHash(hexadecimal: hash), sequence < UInt64(Int64.max), epoch < UInt64(Int64.max)
            else { return nil }
            return Position(
                epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence), hash: hash)
        }

        package var description: String { "\(epoch):\(sequence)" }
    }

    package func store(named name: String) -> Store? { stores.first { $0.name == name } }

    /// The ``id``s of those without which this backup is not restored, as far as they are known; its own is the last.
    package var needed: [String] { (chain ?? since.map { [$0] } ?? []) + [id] }
}

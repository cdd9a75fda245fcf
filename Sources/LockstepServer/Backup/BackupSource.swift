import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite
import ZeroMQ

/// Where a backup comes from: a node that runs, asked as a joiner asks, or the journals of a stopped one.
enum BackupSource {
    case running(RunningNode)
    /// The readers keep every node out of the folder while they are open.
    case stopped([SQLiteJournalReader])

    /// A node that answers.
    struct RunningNode {
        var endpoint: String
        var cluster: ClusterID
        var stores: [String]
        var status: NodeStatus
        /// The node's own keys, by which it is also asked.
        var keys: NodeKeys?
    }

    /// Finds out whether a node runs in the folder, which is then asked by its own keys.
    ///
    /// - Parameters:
    ///   - folder: The node's folder.
    ///   - identity: What the folder notes.
    ///   - stores: Those that are wanted; nil: all of the node.
    ///   - keys: The node's key file in place of the noted one.
    ///   - access: Its access list in place of the noted one.
    /// - Returns: The node, or its journals.
    /// - Throws: ``LockstepError``, ``CommandFailure``.
    static func found(
        in folder: NodeFolder, _ identity: NodeFolder.Identity, stores: [String]?, keys: String?, access: String?
    ) async throws -> Self {
        let stores = stores ?? identity.stores
        do {
            return .stopped(try stores.map { try SQLiteJournalReader(folder: folder.path, storeName: $0) })
        } catch let inUse as LockstepError where inUse.code == .journalInUse {
            let status: NodeStatus
            do {
                status = try await WaitNotice.during("an answer of the node in \(folder.path)") {
                    try await folder.decodedStatus()
                }
            } catch let error as LockstepError
                where (error.underlying as? AdministrationFailure).map({ $0 != .notRunning }) == true
            {
                // It runs, and need not be stopped to be backed up.
                throw error
            } catch {
                // What has the folder is no node: its name is in the first error.
                throw inUse
            }
            guard let text = status.endpoint else {
                throw CommandFailure(
                    "the node in \(folder.path) listens nowhere, so nothing can be fetched from it: start it with --listen, or "
                        + "stop it and back up its folder", status: .usage)
            }
            var endpoint = try TCPEndpoint(text, use: "the node's address")
            if endpoint.isWildcard { endpoint.host = endpoint.isIPv6 ? "[::1]" : "127.0.0.1" }
            var keys = try folder.keys(of: identity, keys: keys, access: access)
            // The node itself, whatever address it is reached at.
            if let own = keys?.own { keys?.nodes["\(endpoint)"] = [own.publicKey] }
            return .running(
                RunningNode(
                    endpoint: "\(endpoint)", cluster: try parseCluster(identity.cluster), stores: stores,
                    status: status,
                    keys: keys))
        }
    }

    var stores: [String] {
        switch self {
        case .running(let node): node.stores
        case .stopped(let readers): readers.map(\.identity.storeName)
        }
    }

    /// Whether the node may become the primary of its stores, and an arbiter says when (PROTOCOL, R-75).
    var isDataNode: Bool {
        switch self {
        case .running(let node): node.status.stores.contains { $0.dataNode != nil }
        case .stopped(let readers): readers.contains { $0.arbitration != nil }
        }
    }

    /// The role in which the node is, or was last served; nil if it never was, and of a data node, which has none.
    var role: JournalRole? {
        guard !isDataNode else { return nil }
        return switch self {
        case .running(let node): JournalRole(rawValue: node.status.role.rawValue)
        case .stopped(let readers):
            readers.lazy.compactMap { $0.note(.role) }.first.flatMap(JournalRole.init(rawValue:))
        }
    }

    /// Writes one store; `earlier` is the backup that an increment follows, nil for a full one.
    func write(_ store: String, to writer: BackupWriter, since earlier: BackupReader?) throws {
        let log = try earlier.flatMap { file in
            try file.manifest.store(named: store).map { try file.tables(of: $0) }
        }
        switch self {
        case .running(let node): try node.write(store, to: writer, from: log, since: earlier?.path)
        case .stopped(let readers):
            let reader = readers.first { $0.identity.storeName == store }
            try reader?.copy(to: writer, after: log, since: earlier?.path)
        }
    }
}

extension BackupSource.RunningNode {
    fileprivate func write(_ store: String, to writer: BackupWriter, from log: LogState?, since: String?) throws {
        let start = log ?? LogState(store: StoreID(cluster: cluster, name: store))
        // A store that the earlier backup does not have is whole.
        let since = log == nil ? nil : since
        var recording = BackupRecording(of: store, from: start, since: since, into: writer)
        var generator = SystemRandomNumberGenerator()
        let configuration = RecoveryConfiguration(
            storeName: store, cluster: cluster, boot: BootID(using: &generator), seed: generator.next())
        var machine = RecoveryStateMachine(configuration: configuration, log: start)
        let link = try RecoveryLink(node: endpoint, keys: keys) {
            Self.meaning(of: $0, store: store, at: start.position, since: since)
        }
        try link.run(&machine) { directive, machine, directives in
            try recording.execute(directive)
            switch directive {
            case .continueFrom, .replace: machine.continued(at: machine.log, now: link.now, into: &directives)
            case .progressed(.snapshot(let bytes, let all)):
                Output.progress("\(store): \(bytes >> 20) of \(all >> 20) MiB")
            case .progressed(.log(let sequence, let last)): Output.progress("\(store): through \(sequence) of \(last)")
            case .connectIngress, .connectBulk, .send, .append, .finished, .failed: break
            }
        }
        guard let welcome = machine.welcome else { preconditionFailure("a recovery that has ended was welcomed") }
        try writer.end(
            at: machine.log, channel: welcome.channel, incarnation: welcome.incarnation, audience: audience(of: store))
    }

    /// The replicas that a primary has, and those that it had in this life of its process.
    private func audience(of store: String) -> [String] {
        guard let found = status.stores.first(where: { $0.name == store }) else { return [] }
        let names = (found.peers.filter { $0.role == .replica } + found.lostReplicas).map(\.node)
        return Array(Set(names).sorted().prefix(Limits.audience))
    }

    private static func meaning(
        of failure: RecoveryFailure, store: String, at position: Position, since: String?
    ) -> (any Error)? {
        switch failure {
        case .noCommonPlace where since != nil:
            BackupHistory.parted(store: store, at: position, since: since)
        case .noLongerHeld, .noCommonPlace:
            CommandFailure("the node wrote faster than \(store) could be fetched: try again when it writes less")
        case .batchUnfit(let error):
            CommandFailure("the node sent a batch of \(store) that does not follow: \(error)", status: .damaged)
        case .noNode, .welcomeUnreadable, .refused, .servesNoSnapshots, .noAnswer, .preparesTooLong, .asksToBeginAgain,
            .snapshotTooLarge, .chunksDoNotBelongTogether, .snapshotUnreadable, .otherSnapshot, .batchUnreadable:
            nil
        }
    }
}

import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// `recover`: brings a stopped node's journal back to what the cluster knows (PROTOCOL R-41).
public struct RecoverCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "recover", abstract: "Brings the journal of a stopped primary up to what another node has.",
            discussion: """
                For a primary that says PRIMARY_BEHIND because an old copy of its folder was put back, or a copy of it was \
                started elsewhere, and for one whose journal is damaged. --from fetches from a node what this journal lacks; \
                entries that only this journal has, after the last place that both know, are kept aside ("journal inspect" \
                counts them). A journal that cannot be read, or cannot be repaired, is made anew from that node, and the old \
                files are kept in a folder beside it. A command that was interrupted is run again. --accept-loss gives up \
                everything up to the position that the alarm of the last start named, and that this journal does not have; it \
                takes no other position, and covers nothing that is lost later. A data node's folder is refused: it fetches \
                what it lacks by itself.

                  \(Server.name) recover --data data/primary --from tcp://127.0.0.1:7410
                  \(Server.name) recover --data data/primary --accept-loss 1763700000000:41230
                """)
    }

    @Option(help: "The stopped node's folder.")
    var data: String
    @Option(help: "A node that has more: the tcp://HOST:PORT where it listens.")
    var from: String?
    @OptionGroup var keyOptions: KeyOptions
    @Flag(help: "With --from: make the journal anew, also if it can be read; the old files are kept beside it.")
    var anew = false
    @Option(help: "EPOCH:SEQUENCE, as the alarm names it: everything up to there that this journal lacks is given up.")
    var acceptLoss: String?
    @Option(help: "The store. Default: all of the folder; with --accept-loss, the \(Server.stores.usual).")
    var store: String?
    @Flag(help: "Print JSON, a line for each store.")
    var json = false

    /// Read from the command line.
    public init() {}

    /// Recovers the journals, or gives up what is lost.
    public func run() throws {
        let folder = NodeFolder(data)
        let identity = try folder.identity()
        try folder.refuseDataNode(
            identity,
            acceptLoss == nil
                ? "it fetches what it lacks by itself. If its journal is damaged or was set back, move the folder away, and "
                    + "make it anew with \"init --etcd\", --cluster \(identity.cluster) and --node \(identity.node)"
                : "what it may lose is given up with \"cluster promote --accept-loss\", when no member of the set is left"
        )
        try identity.check(store: store, in: data)
        if let from { _ = try TCPEndpoint(from, use: "--from") }
        let cluster = try parseCluster(identity.cluster)
        switch (from, acceptLoss) {
        case (let from?, nil):
            let keys = try keyOptions.nodeKeys() ?? folder.keys(of: identity)
            for store in store.map({ [$0] }) ?? identity.stores {
                let recovery = Recovery(
                    folder: folder, identity: identity, cluster: cluster, store: store, known: Server.stores.names,
                    keys: keys)
                let report = try anew ? recovery.makeAnew(from: from) : recovery.repair(from: from)
                if json {
                    try Output.json(report)
                    continue
                }
                Output.line("store        \(store)")
                Output.line("kept aside   \(report.keptAside) entries that only this journal had")
                Output.line("fetched      \(report.fetched) entries\(report.usedSnapshot ? ", by a snapshot" : "")")
                if let kept = report.oldFiles { Output.line("made anew    the old files are in \(kept)") }
                if let lost = report.lost {
                    Output.line("lost         the node had written through \(lost); nobody who was asked has that")
                }
                Output.line("the journal now ends at \(report.end)")
            }
        case (nil, let position?):
            let journal = try folder.openJournal(identity, cluster: cluster, store: store ?? Server.stores.usual)
            defer { journal.close() }
            try journal.openForRepair()
            try Self.acceptLoss(of: position, in: journal)
        default:
            throw ValidationError("name either --from NODE or --accept-loss EPOCH:SEQUENCE")
        }
    }

    /// Gives up what the alarm of the journal's last boot named, and nothing else: the alarm is used up by it.
    private static func acceptLoss(of text: String, in journal: SQLiteJournal) throws {
        let store = journal.identity.storeName
        guard let place = Place(text) else { throw CommandFailure("\(text) is not EPOCH:SEQUENCE", status: .usage) }
        let reported = try journal.note(.reportedBehind).flatMap(KnownPosition.init(noteText:))
        let wall = LogTime(rawValue: Int64(Date().timeIntervalSince1970 * 1_000_000))
        switch LossVerdict(place.epoch, place.sequence, reported: reported, wall: wall) {
        case .accepted(let known):
            try journal.setNote(.lossAccepted, to: known.noteText)
            try journal.setNote(.reportedBehind, to: nil)
            let position = known.position
            Output.line(
                "given up through \(position.epoch):\(position.sequence); nodes that have it will say AHEAD and stay so"
            )
        case .noAlarm:
            throw CommandFailure(
                "nothing was changed: the primary of \(store) has raised no alarm PRIMARY_BEHIND since its last start, so "
                    + "there is nothing to give up; start it and see \"\(Server.name) status\"")
        case .other(let position):
            throw CommandFailure(
                "nothing was changed: the alarm of \(store) named \(position.epoch):\(position.sequence), and only that "
                    + "can be given up")
        case .impossible(let epoch):
            throw CommandFailure(
                "nothing was changed: epoch \(epoch) is more than a year in the future, so no primary wrote it; find the "
                    + "node that reported it and stop it")
        }
    }
}

extension NodeFolder {
    /// Refuses the folder of a data node, whose log only the cluster changes (PROTOCOL, R-85); `advice` says what to do.
    func refuseDataNode(_ identity: Identity, _ advice: String) throws {
        guard identity.etcd != nil else { return }
        throw CommandFailure("\(path) is a data node's folder: \(advice); nothing was changed", status: .usage)
    }

    /// Opens a store's journal for an operator's change; the node must not run.
    ///
    /// A data node's is refused, unless the change is one for data nodes, too (PROTOCOL, R-85).
    func openJournal(
        _ identity: Identity, cluster: ClusterID, store: String, isForDataNode: Bool = false
    ) throws -> SQLiteJournal {
        var request = JournalRequest(cluster: cluster, storeName: store, nodeName: identity.node)
        request.isForDataNode = isForDataNode
        let opened = try JournalSource.sqlite(at: path, create: false).open(request)
        guard let journal = opened as? SQLiteJournal else {
            throw CommandFailure("the journal in \(path) is of another kind")
        }
        return journal
    }
}

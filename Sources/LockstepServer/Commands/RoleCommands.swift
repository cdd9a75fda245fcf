import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// `promote`: a replica's folder becomes the primary's (PROTOCOL, R-49).
public struct PromoteCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "promote", abstract: "Makes the folder of a stopped replica the primary's.",
            discussion: """
                A folder keeps its role: the one in which it was last served, or a replica's if it was made with "init \
                --cluster". "serve" refuses the other. This changes it, for all stores of the folder, when the primary's \
                host is lost. There must be no way back for that primary: two primaries write two histories.

                  \(Server.name) promote --data data/replica-1 --yes
                """)
    }

    @OptionGroup var change: RoleChange

    /// Read from the command line.
    public init() {}

    /// Changes the folder's role, if the answer is yes.
    public func run() throws { try run(confirming: change.confirm) }

    /// Changes the folder's role, unless `confirmation` throws, which gets the question.
    package func run(confirming confirmation: (String) throws -> Void) throws {
        try change.run(to: .primary, confirming: confirmation) { _ in
            """
            As the primary, this node goes on from there:
              - the primary before must never come back: stop it, disable its unit, move its folder away;
              - what that primary had acknowledged and this node does not have is lost;
              - a replica that has more makes this node say PRIMARY_BEHIND: promote the one that has the most.
            """
        }
    }
}

/// `demote`: the folder of a primary that another node has replaced becomes a replica's (PROTOCOL, R-49).
public struct DemoteCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "demote", abstract: "Makes the folder of a stopped primary a replica's.",
            discussion: """
                For a folder that was promoted by mistake, or whose place another primary has taken. An epoch at the end in \
                which nobody was told anything is kept aside ("journal inspect" counts it), so that the replica can follow. \
                Other entries stay: if the primary lacks them, it says PRIMARY_BEHIND and this replica AHEAD. Then begin the \
                replica anew instead, with "init".

                  \(Server.name) demote --data data/replica-1 --yes
                """)
    }

    @OptionGroup var change: RoleChange

    /// Read from the command line.
    public init() {}

    /// Changes the folder's role, if the answer is yes.
    public func run() throws { try run(confirming: change.confirm) }

    /// Changes the folder's role, unless `confirmation` throws, which gets the question.
    package func run(confirming confirmation: (String) throws -> Void) throws {
        try change.run(to: .replica, confirming: confirmation) { stores in
            let first = "As a replica, this node follows another primary:"
            let cut = stores.compactMap { store in
                store.emptyEnd.map { "  - \(store.name): the empty end after \($0) is kept aside;" }
            }
            let last = "  - a primary that lacks what this folder has says PRIMARY_BEHIND, and this node AHEAD."
            return ([first] + cut + [last]).joined(separator: "\n")
        } change: { journal, store in
            guard let end = store.emptyEnd else { return }
            _ = try journal.quarantine(after: end, reason: "demoted: an epoch in which nobody was told anything")
        }
    }
}

/// What both have in common: looks at all stores first, asks, and then notes the new role in each.
struct RoleChange: ParsableArguments {
    @Option(help: "The stopped node's folder.")
    var data: String
    @Flag(help: "Do it without asking.")
    var yes = false

    /// A store before the change.
    struct Found {
        var name: String
        var role: JournalRole?
        var end: Position
        /// Where an end begins that holds nothing but openings of epochs and marks; none if there is no such end.
        var emptyEnd: Position?
    }

    /// Changes the role of all stores.
    ///
    /// With a `change` of a journal each is verified first, since its side mark is written anew. Without one the mark
    /// stays as it is, and the next start compares it.
    func run(
        to role: JournalRole, confirming confirmation: (String) throws -> Void, meaning: ([Found]) -> String,
        change: ((SQLiteJournal, Found) throws -> Void)? = nil
    ) throws {
        let folder = NodeFolder(data)
        let identity = try folder.identity()
        try folder.refuseDataNode(
            identity,
            "etcd says who is the primary. \"cluster handover\" gives the post away, \"cluster promote\" takes it when no "
                + "member of the set is left, \"cluster leave\" makes it the folder of one primary")
        let cluster = try parseCluster(identity.cluster)
        let stores = try identity.stores.map { try look(folder, $0) }
        for store in stores {
            let before = store.role.map { "a \($0)'s until now" } ?? "never served by a \(role)"
            Output.line("\(store.name.padding(toLength: 12, withPad: " ", startingAt: 0)) \(store.end), \(before)")
        }
        guard stores.contains(where: { $0.role != role }) else {
            return Output.line("this is a \(role)'s folder already; nothing was changed")
        }
        Output.line(meaning(stores))
        try confirmation("Make \(folder.path) a \(role)'s folder?")
        let changed = stores.filter { $0.role != role }
        var journals: [SQLiteJournal] = []
        defer { for journal in journals { journal.close() } }
        for store in changed {
            journals.append(try folder.openJournal(identity, cluster: cluster, store: store.name))
        }
        if change == nil {
            for journal in journals { try journal.openForRepair() }
        } else {
            try SQLiteJournal.openVerified(journals)
        }
        // The folder was not locked while the answer was awaited.
        for (journal, store) in zip(journals, changed) where journal.head != store.end {
            throw CommandFailure(
                "the journal of \(store.name) in \(folder.path) has changed meanwhile; nothing was changed. Stop the "
                    + "node that has run there, then run this again")
        }
        for (journal, store) in zip(journals, changed) {
            try change?(journal, store)
            try journal.setNote(.role, to: role.rawValue)
        }
        Output.line("\(folder.path) is a \(role)'s folder now")
    }

    private func look(_ folder: NodeFolder, _ store: String) throws -> Found {
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
        let role = reader.note(.role).flatMap(JournalRole.init(rawValue:))
        let emptyEnd = try reader.emptyEnd()
        let found = Found(name: store, role: role, end: try reader.end(), emptyEnd: emptyEnd)
        try reader.close()
        return found
    }

    /// Asks on a terminal; elsewhere the answer must have been given.
    fileprivate func confirm(_ question: String) throws {
        guard !yes else { return }
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
            throw CommandFailure("nothing was changed: say --yes to go on", status: .usage)
        }
        FileHandle.standardOutput.write(Data("\(question) [y/N] ".utf8))
        let answer = readLine()?.lowercased()
        guard answer == "y" || answer == "yes" else { throw CommandFailure("nothing was changed") }
    }
}

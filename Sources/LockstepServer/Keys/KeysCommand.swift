import Foundation
import LockstepNode
import ZeroMQ

/// `keys`: key files, and the access list of a cluster.
public struct KeysCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "keys", abstract: "Makes keys, and says who may talk to the nodes of a cluster.",
            discussion: """
                A key file has a name, its public key and its secret, and stays with its owner. The access list has names, \
                their public keys and what they may do. All nodes of a cluster have the same list; a running node takes a \
                new one within a second. Roles: node, replica, writer, reader, admin.

                  \(Server.name) keys new web-1 --to web-1.key
                  \(Server.name) keys allow web-1 --key web-1.key --role writer --access access.json
                  \(Server.name) keys export --access access.json --to nodes.json
                  \(Server.name) keys show --access access.json
                """,
            subcommands: [
                New.self, Show.self, KeysAllowCommand<Server>.self, KeysRevokeCommand<Server>.self,
                KeysRotateCommand<Server>.self, KeysExportCommand<Server>.self,
            ])
    }

    /// Read from the command line.
    public init() {}

    struct New: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "new", abstract: "Makes a key file.",
                discussion: """
                    The file has mode 0600, and no file is written over. Make it on the host where it is used: a secret \
                    that never travels cannot be read on the way.

                      \(Server.name) keys new web-1
                      \(Server.name) keys new node-b --to /var/lib/\(Server.name)/node-b.key
                    """)
        }

        @Argument(help: "Whose keys they are: 1 to 64 letters, digits, \"-\", \"_\" and \".\".")
        var name: String
        @Option(help: "The file. Default: NAME.key in the current folder.")
        var to: String?
        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            let name = try parseNode(name).name
            let path = to ?? name + ".key"
            try KeyReport(try KeyFile.make(name: name, at: path), file: path).print(json: json)
        }
    }

    struct Show: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "show", abstract: "Prints the public key of a key file, or an access list.",
                discussion: """
                    The line of a key file is what "keys allow" takes elsewhere; nothing in it is secret.

                      \(Server.name) keys show web-1.key > web-1.pub
                      \(Server.name) keys show --access access.json
                    """)
        }

        @Argument(help: "A key file.")
        var file: String?
        @OptionGroup var list: AccessListPlace
        @Flag(help: "Print JSON.")
        var json = false

        func validate() throws {
            guard file == nil || !list.isNamed else {
                throw ValidationError("name either a key file, or a list with --access or --data")
            }
        }

        func run() throws {
            if let file { return try KeyReport(try KeyFile(reading: file), file: nil).print(json: json) }
            let entries = try list.read().entries
            if json {
                for entry in entries { try Output.json(entry) }
            } else {
                Output.line(AccessTable.text(of: entries))
            }
        }
    }
}

/// What `keys new` and `keys show` print of a key file: nothing secret.
struct KeyReport: Encodable {
    private let name: String
    private let publicKey: String
    private let file: String?
    private let line: String

    private enum CodingKeys: String, CodingKey { case name, publicKey, file }

    /// `file` is named if it was made.
    init(_ key: KeyFile, file: String?) {
        (name, publicKey, self.file) = (key.name, key.pair.publicKey.z85, file)
        line = "\(PublicKeyLine(key))"
    }

    func print(json: Bool) throws {
        if json { return try Output.json(self) }
        if let file { Output.error("the secret is in \(file) and nowhere else; this is the public key:") }
        Output.line(line)
    }
}

/// The lines in which people read an access list.
enum AccessTable {
    /// A line for each; kinds of actions and quotas have a column only if somebody has any.
    static func text(of entries: [AccessList.Entry]) -> String {
        let heads = ["NAME", "ROLES", "STORES", "ACTIONS", "QUOTA", "ADDRESS", "KEYS"]
        var columns = Array(heads.indices)
        if entries.allSatisfy(\.quota.limits.isEmpty) { columns.remove(at: 4) }
        if entries.allSatisfy(\.actions.isEmpty) { columns.remove(at: 3) }
        let rows = ([heads] + entries.map(cells)).map { row in columns.map { row[$0] } }
        return TextTable.lines(rows).joined(separator: "\n")
    }

    private static func cells(_ entry: AccessList.Entry) -> [String] {
        let actions = entry.actions.sorted { $0.key < $1.key }.flatMap { store, kinds in
            kinds.sorted().map { "\(store):\($0)" }
        }
        let limits = entry.quota.limits.map { "\($0.name)=\($0.value)" }
        return [
            entry.name, entry.roles.sorted().map(\.rawValue).joined(separator: ","),
            entry.stores?.sorted().joined(separator: ",") ?? "all",
            actions.isEmpty ? "all" : actions.joined(separator: ","),
            limits.isEmpty ? "-" : limits.joined(separator: ","), entry.address ?? "-",
            entry.keys.map(\.z85).joined(separator: " "),
        ]
    }
}

import Foundation
import LockstepNode
import ZeroMQ

/// `keys allow`: puts a name into an access list, or changes what it may do.
struct KeysAllowCommand<Server: LockstepServer>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "allow", abstract: "Lets a name in, or changes what it may do.",
            discussion: """
                A new name needs a key and a role. For a name that is there, what is given is changed and the rest stays: \
                --key adds a second key beside the first; --role, --store, --action and --quota take the place of all \
                of theirs from before.

                Roles: reader asks and watches; writer also sends actions; replica follows a primary, and so may read the \
                whole store; node is a node of the cluster; admin may ask over the network what the others may not.

                  \(Server.name) keys allow web-1 --key web-1.pub --role writer --access access.json
                  \(Server.name) keys allow web-1 --role reader --store \(Server.stores.usual) --access access.json
                  \(Server.name) keys allow web-1 --action \(Server.stores.usual):add --quota sessions=100 --access access.json
                  \(Server.name) keys allow node-b --key node-b.pub --role node --address tcp://10.0.0.2:7400 --access access.json
                """)
    }

    @Argument(help: "The name.")
    var name: String
    @Option(
        parsing: .unconditional,
        help: "Its public key: the 40 characters, a file with what \"keys show\" prints, or its key file.")
    var key: String?
    @Option(
        name: .customLong("role"),
        help: "What it may do: node, replica, writer, reader or admin; may be repeated.", transform: Self.role)
    var roles: [AccessRole] = []
    @Option(name: .customLong("store"), help: "A store that it may use; may be repeated. Default: all.")
    var stores: [String] = []
    @Flag(help: "Let it use all stores again.")
    var allStores = false
    @Option(
        name: .customLong("action"),
        help: "A kind of action that it may send to a store: STORE:KIND; may be repeated. Default: all kinds.",
        transform: Self.action)
    var actions: [(store: String, kind: String)] = []
    @Flag(help: "Let it send all kinds of actions again.")
    var allActions = false
    @Option(
        name: .customLong("quota"),
        help: ArgumentHelp(
            "What it may take: sessions=N, inFlight=N, bytesPerSecond=N or connections=N; may be repeated. "
                + "Default: as much as anybody."),
        transform: Self.limit)
    var quota: [(name: String, value: Int)] = []
    @Flag(help: "Let it take as much as anybody again.")
    var noQuota = false
    @Option(help: "Where the node listens: tcp://HOST:PORT, as others reach it.")
    var address: String?
    @OptionGroup var list: AccessListPlace
    @Flag(help: "Print the entry as JSON.")
    var json = false

    private static func role(_ text: String) throws -> AccessRole {
        guard let role = AccessRole(rawValue: text) else {
            throw ValidationError("one of \(AccessRole.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return role
    }

    private static func action(_ text: String) throws -> (store: String, kind: String) {
        let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { throw ValidationError("STORE:KIND, such as \(Server.stores.usual):add") }
        return (parts[0], parts[1])
    }

    private static func limit(_ text: String) throws -> (name: String, value: Int) {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, AccessQuota.names.contains(parts[0]), let value = Int(parts[1]) else {
            throw ValidationError("one of \(AccessQuota.names.joined(separator: ", ")), \"=\" and a number")
        }
        return (parts[0], value)
    }

    func validate() throws {
        guard stores.isEmpty || !allStores else { throw ValidationError("--store and --all-stores exclude each other") }
        guard actions.isEmpty || !allActions else {
            throw ValidationError("--action and --all-actions exclude each other")
        }
        guard quota.isEmpty || !noQuota else { throw ValidationError("--quota and --no-quota exclude each other") }
    }

    func run() throws {
        let name = try parseNode(name).name
        let key = try key.map { try PublicKeyArgument.read($0, for: name) }
        var entry: AccessList.Entry?
        let isMade = try list.edit(makes: true) { list in
            try list.change(name) { old in
                entry = try changed(old ?? fresh(name), adding: key)
                return entry
            }
        }
        guard let entry else { preconditionFailure("the entry was changed") }
        if isMade { Output.error("\(try list.path()) is made") }
        if json { try Output.json(entry) } else { Output.line(AccessTable.text(of: [entry])) }
    }

    private func fresh(_ name: String) throws -> AccessList.Entry {
        guard key != nil, !roles.isEmpty else {
            throw CommandFailure("\(name) is not in the list yet: a new name needs --key and --role", status: .usage)
        }
        return AccessList.Entry(name: name, keys: [], roles: [])
    }

    private func changed(_ old: AccessList.Entry, adding key: CurvePublicKey?) throws -> AccessList.Entry {
        var entry = old
        if let key { try entry.add(key) }
        if !roles.isEmpty { entry.roles = Set(roles) }
        if allStores { entry.stores = nil }
        if !stores.isEmpty { entry.stores = Set(stores) }
        if allActions { entry.actions = [:] }
        if !actions.isEmpty {
            entry.actions = Dictionary(grouping: actions, by: \.store).mapValues { Set($0.map(\.kind)) }
        }
        if noQuota || !quota.isEmpty { entry.quota = AccessQuota(limits: quota) }
        if let address { entry.address = address }
        return entry
    }
}

extension AccessList.Entry {
    /// Adds a key beside the one that is there; one that is there already stays.
    mutating func add(_ key: CurvePublicKey) throws {
        guard !keys.contains(key) else { return }
        guard keys.count < 2 else {
            throw CommandFailure("\(name) has two keys already: take the old one away first, with \"keys revoke\"")
        }
        keys.append(key)
    }
}

/// `keys revoke`: takes a name, or one of its keys, out of an access list.
struct KeysRevokeCommand<Server: LockstepServer>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "revoke", abstract: "Takes a name, or one of its keys, out of the list.",
            discussion: """
                A node that gets the changed list ends the open connections of the name within a second. Every node has a \
                list of its own: change or copy it on all of them.

                  \(Server.name) keys revoke web-1 --access access.json
                  \(Server.name) keys revoke web-1 --key old.pub --access access.json
                """)
    }

    @Argument(help: "The name.")
    var name: String
    @Option(
        parsing: .unconditional,
        help: "Only this key: the 40 characters, a file with what \"keys show\" prints, or its key file.")
    var key: String?
    @OptionGroup var list: AccessListPlace
    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        var name: String
        var keysLeft: Int
    }

    func run() throws {
        let name = try parseNode(name).name
        let key = try key.map { try PublicKeyArgument.read($0, for: name) }
        var left = 0
        _ = try list.edit { list in
            try list.change(name) { old in
                guard var entry = old else {
                    throw CommandFailure("\(name) is not in the list, so nothing was changed")
                }
                guard let key else { return nil }
                guard entry.keys.contains(key) else {
                    throw CommandFailure("\(name) does not have this key, so nothing was changed")
                }
                entry.keys.removeAll { $0 == key }
                left = entry.keys.count
                return entry.keys.isEmpty ? nil : entry
            }
        }
        if json { return try Output.json(Report(name: name, keysLeft: left)) }
        Output.line(left == 0 ? "\(name) is out of the list" : "the key of \(name) is out of the list; one is left")
    }
}

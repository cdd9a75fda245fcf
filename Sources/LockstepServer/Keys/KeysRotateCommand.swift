import Foundation
import LockstepFolders
import LockstepNode
import ZeroMQ

/// `keys rotate`: gives a name new keys while the old ones are still good.
struct KeysRotateCommand<Server: LockstepServer>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "rotate", abstract: "Gives a name new keys, while the old ones are still good.",
            discussion: """
                Three steps. --begin makes FILE.next with new keys, and adds their public key beside the old one. Then copy \
                the list to all nodes, and for a node's keys also what "keys export" writes to all clients. --use puts \
                FILE.next in the place of FILE: restart the process that has it. --end takes every other key of the name \
                out of the list: copy it to all nodes again.

                  \(Server.name) keys rotate web-1 --begin --keys web-1.key --access access.json
                  \(Server.name) keys rotate web-1 --use --keys web-1.key
                  \(Server.name) keys rotate web-1 --end --keys web-1.key --access access.json
                  \(Server.name) keys rotate node-b --begin --data data/node-b
                """)
    }

    private enum Step: String, EnumerableFlag {
        case begin, use, end

        static func help(for value: Step) -> ArgumentHelp? {
            switch value {
            case .begin: "Make the next keys, and allow them beside those of now."
            case .use: "Put the next keys in the place of those of now; nothing is changed in the list."
            case .end: "Take all keys but those of now out of the list."
            }
        }
    }

    @Argument(help: "The name.")
    var name: String
    @Flag private var step: Step
    @Option(help: "The key file. Default: that of the node of --data.")
    var keys: String?
    @OptionGroup var list: AccessListPlace
    @Flag(help: "Print JSON.")
    var json = false

    private struct Report: Encodable {
        var name: String
        var step: String
        var publicKey: String
    }

    func run() throws {
        let name = try parseNode(name).name
        let file = try file()
        let current = try KeyFile(reading: file)
        guard current.name == name else {
            throw CommandFailure("\(file) has the keys of \(current.name), not of \(name)", status: .usage)
        }
        let key =
            switch step {
            case .begin: try begin(current, next: file + ".next")
            case .use: try use(file, next: file + ".next")
            case .end: try end(current)
            }
        if json {
            return try Output.json(Report(name: name, step: step.rawValue, publicKey: key.pair.publicKey.z85))
        }
        Output.line("\(PublicKeyLine(key))")
        Output.error(advice(file))
    }

    private func file() throws -> String {
        if let keys { return keys }
        guard let data = list.data else {
            throw ValidationError("name the key file with --keys, or a node's folder with --data")
        }
        let folder = NodeFolder(data)
        guard let path = try folder.identity().keys.map(folder.resolved) else {
            throw CommandFailure("the node in \(data) has no keys", status: .usage)
        }
        return path
    }

    /// A command that was interrupted is repeated: the next keys are there then.
    private func begin(_ current: KeyFile, next: String) throws -> KeyFile {
        let isThere = FileManager.default.fileExists(atPath: next)
        let key = isThere ? try KeyFile(reading: next) : try KeyFile.make(name: current.name, at: next)
        guard key.name == current.name else { throw CommandFailure("\(next) has the keys of \(key.name)") }
        _ = try list.edit { list in
            try list.change(current.name) { old in
                guard var entry = old, entry.keys.contains(current.pair.publicKey) else {
                    throw CommandFailure(
                        "the list does not have the key of \(current.name) that is in use: allow it first, with \"keys allow\""
                    )
                }
                try entry.add(key.pair.publicKey)
                return entry
            }
        }
        return key
    }

    private func use(_ file: String, next: String) throws -> KeyFile {
        let key = try KeyFile(reading: next)
        guard key.name == name else { throw CommandFailure("\(next) has the keys of \(key.name)") }
        try KeyFile.replace(file, by: next)
        return key
    }

    private func end(_ current: KeyFile) throws -> KeyFile {
        _ = try list.edit { list in
            try list.change(current.name) { old in
                guard var entry = old, entry.keys.contains(current.pair.publicKey) else {
                    throw CommandFailure("the list does not have the key that is in use, so nothing was taken out")
                }
                entry.keys = [current.pair.publicKey]
                return entry
            }
        }
        return current
    }

    private func advice(_ file: String) -> String {
        switch step {
        case .begin: "\(file).next is made and allowed; copy the list to all nodes, then \"keys rotate \(name) --use\""
        case .use: "restart what has \(file), and when it is there again, \"keys rotate \(name) --end\""
        case .end: "only this key is left; copy the list to all nodes"
        }
    }
}

import Foundation
import LockstepFolders
import LockstepHarness
import Testing

extension IntegrationTests {
    /// No command waits for a node or for etcd in silence: after a second it says on standard error for what, whether nobody
    /// listens at an address, the node in a folder stands still, or the etcd of a folder does not answer (deploy/README.md,
    /// section 6).
    ///
    /// The program itself lists its commands, so a new one must come here.
    @Test func everyCommandSaysForWhatItWaits() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let node = try #require(cluster.child(0))
            node.send(SIGSTOP)
            defer { node.send(SIGCONT) }
            let places = ["node": "tcp://127.0.0.1:\(Bench.ports())", "data": cluster.node(0).path]
            let listed = try CommandList.read()
            let port = Bench.ports(10)
            let etcd = "http://127.0.0.1:\(port)"
            let silent = try await Bench.silentListener(port: port, log: cluster.folder + "/silent.log")
            defer { silent.end(SIGKILL) }
            var waiting: [(line: String, command: ChildProcess, log: String)] = []
            defer { for started in waiting { started.command.end(SIGKILL) } }
            for (name, options) in listed where !CommandList.ofStoppedNodes.contains(name) {
                let lines = try #require(
                    CommandList.arguments(etcd)[name], "\(name) is a command that nobody tries")
                for arguments in lines {
                    for option in options {
                        var place = try #require(places[option])
                        if CommandList.ofEtcd.contains(name) {
                            place = cluster.folder + "/data-\(waiting.count)"
                            let known = name == "cluster adopt" ? [] : ["--etcd", etcd]
                            #expect(try ChildProcess.run(Bench.program, ["init", "--data", place] + known).status == 0)
                        }
                        let words = name.split(separator: " ").map(String.init) + arguments + ["--" + option, place]
                        let log = cluster.folder + "/waiting-\(waiting.count).log"
                        let command = try ChildProcess("waiting", Bench.program, words, log: log)
                        waiting.append((words.joined(separator: " "), command, log))
                    }
                }
            }
            #expect(Set(listed.keys) == CommandList.ofStoppedNodes.union(CommandList.arguments(etcd).keys))
            // It writes a folder that nobody serves, and waits for the node that it asks.
            let (idle, log) = (cluster.folder + "/idle", cluster.folder + "/recover.log")
            #expect(try Bench.lockstep("init", "--data", idle).status == 0)
            let nobody = "tcp://127.0.0.1:\(Bench.ports())"
            let words = ["recover", "--data", idle, "--from", nobody]
            let command = try ChildProcess("waiting", Bench.program, words, log: log)
            waiting.append((words.joined(separator: " "), command, log))
            for started in waiting {
                try await Bench.wait("a line of \(started.line)") {
                    let text = try String(contentsOfFile: started.log, encoding: .utf8)
                    if text.contains("lockstep: waiting for ") { return true }
                    guard !started.command.isRunning else { return false }
                    // What it wrote last came before its end.
                    let all = try String(contentsOfFile: started.log, encoding: .utf8)
                    #expect(all.contains("lockstep: waiting for "), "\(started.line): \(all)")
                    return true
                }
            }
        }
    }
}

/// The commands that name a node, by `--node` or by the `--data` of its folder.
private enum CommandList {
    /// They make a folder, serve it, only read or write its files, or want its node stopped.
    static var ofStoppedNodes: Set<String> {
        var commands: Set = [
            "clock accept", "demote", "init", "journal difference", "journal dump", "journal inspect",
            "journal state-at", "journal verify", "keys allow", "keys export", "keys revoke", "keys rotate",
            "keys show", "promote", "recover", "restore", "serve",
        ]
        #if Etcd
            commands.insert("cluster etcd")
        #endif
        return commands
    }

    /// They ask the etcd that a folder notes, or that they are told.
    static let ofEtcd: Set = [
        "cluster adopt", "cluster balance", "cluster create", "cluster leave", "cluster members", "cluster minimum",
        "cluster promote", "cluster rebind", "cluster remove", "cluster status",
    ]

    /// What each of the others takes beside the node; `watch` is tried with and without a query.
    static func arguments(_ etcd: String) -> [String: [[String]]] {
        var arguments = plain
        #if Etcd
            arguments["cluster handover"] = [[], ["counters"]]
            for command in ofEtcd { arguments[command] = [[]] }
            arguments["cluster adopt"] = [["--etcd", etcd]]
            arguments["cluster create"] = [[], ["counters"]]
            arguments["cluster leave"] = [["--accept-loss"]]
            arguments["cluster minimum"] = [["2"]]
            arguments["cluster promote"] = [["--accept-loss"]]
            arguments["cluster remove"] = [["node-7"]]
            arguments["cluster status"] = [[], ["--wait", "10"]]
        #endif
        return arguments
    }

    private static let plain: [String: [[String]]] = [
        "actions abandon": [["1:1#1"]], "actions list": [[]], "ask": [["counters", #"{"get":{"_0":"a"}}"#]],
        "backup make": [["--to", "/dev/null/backup"]], "counter add": [["a"]], "counter get": [["a"]],
        "counter limit": [["a", "--none"]], "counter list": [[]], "counter reset": [["a"]],
        "counter set": [["a", "1"]], "counter take": [["a"]], "counter top": [[]], "counter watch": [["a"]],
        "outcome": [["1:1", "1"]], "search clear": [[]], "search evict": [["a"]], "search query": [["a"]],
        "search refresh": [["a"]], "search stats": [[]], "search watch": [[]],
        "send": [["counters", #"{"add":{"_0":"a","by":1}}"#]], "sessions close": [["1:1"]], "sessions list": [[]],
        "status": [[]], "top": [["--frames", "1"]], "watch": [["counters"], ["counters", #"{"get":{"_0":"a"}}"#]],
    ]

    private struct Help: Decodable {
        var command: Command
    }

    private struct Command: Decodable {
        var commandName: String
        var subcommands: [Command]?
        var arguments: [Argument]?
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            var name: String
        }
        var names: [Name]?
    }

    /// By its words each command that has one of the two options, with those that it has.
    static func read() throws -> [String: [String]] {
        let help = try Bench.lockstep("--experimental-dump-help")
        let root = try JSONDecoder().decode(Help.self, from: Data(help.output.utf8)).command
        var found: [String: [String]] = [:]
        func look(at command: Command, _ words: [String]) {
            let names = Set((command.arguments ?? []).flatMap { $0.names ?? [] }.map(\.name))
            let options = ["data", "node"].filter(names.contains)
            if !options.isEmpty { found[words.joined(separator: " ")] = options }
            for part in command.subcommands ?? [] where part.commandName != "help" {
                look(at: part, words + [part.commandName])
            }
        }
        look(at: root, [])
        return found
    }
}

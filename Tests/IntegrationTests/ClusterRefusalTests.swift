#if Etcd
    import Foundation
    import LockstepHarness
    import Testing

    extension IntegrationTests {
        /// What the commands of `cluster` say of a folder, an etcd or words that are wrong.
        @Suite(.serialized, .timeLimit(.minutes(8))) struct ClusterRefusalTests {
            /// What each command of `cluster` is told beside its folder.
            private static let commands: [String: [String]] = [
                "create": [], "status": [], "members": [], "handover": [], "balance": [], "minimum": ["1"],
                "remove": ["node-7"], "promote": ["--accept-loss"], "rebind": ["--yes"], "leave": ["--accept-loss"],
                "adopt": ["--etcd", "http://127.0.0.1:1"], "etcd": ["--etcd", "http://127.0.0.1:2"],
            ]

            /// A folder that is not what it should be, and what these commands say of it.
            private struct Wrong {
                var name: String
                var commands: Set<String>
                var more: [String] = []
                var status: Int32
                var text: String
            }

            /// Goal: what is wrong with a folder, with its etcd, or with what a command is told, is said in one line,
            /// with the status of deploy/README.md, and changes nothing.
            @Test func whatIsWrongIsSaidByEveryCommand() async throws {
                let nodes = try await DataNodeProcesses(nodes: 1, minimum: 1)
                defer { nodes.remove() }
                let (port, live) = (Bench.ports(), nodes.data(0))
                let etcds = ["other": nodes.etcdEndpoint, "silent": "http://127.0.0.1:\(port)"]
                for name in ["alone", "damaged", "away", "other", "silent"] {
                    let etcd = name == "alone" ? [] : ["--etcd", etcds[name] ?? "http://127.0.0.1:1"]
                    let data = nodes.folder + "/" + name
                    _ = try ChildProcess.output(Bench.program, ["init", "--data", data] + etcd)
                }
                try "{".write(toFile: nodes.folder + "/damaged/node.json", atomically: true, encoding: .utf8)
                let silent = try await Bench.silentListener(port: port, log: nodes.folder + "/silent.log")
                defer { silent.end(SIGKILL) }
                let before = try nodes.done("cluster", "status", "--data", live, "--json")
                // Without an order to a running node, of a folder that has an etcd or needs none.
                let most = Set(Self.commands.keys).subtracting(["handover"])
                let named: Set = ["create", "status", "minimum", "remove", "promote", "rebind"]
                let wrong = [
                    Wrong(name: "gone", commands: most, status: 64, text: "/gone"),
                    Wrong(name: "damaged", commands: most, status: 65, text: "/damaged/node.json"),
                    Wrong(name: "alone", commands: most.subtracting(["adopt"]), status: 64, text: "no data node's"),
                    Wrong(name: "alone", commands: ["adopt"], status: 69, text: "127.0.0.1:1"),
                    Wrong(name: "away", commands: most.subtracting(["etcd", "leave"]), status: 69, text: ":1"),
                    Wrong(name: "other", commands: ["balance", "remove"], status: 1, text: "etcd has no record"),
                    Wrong(name: "node-0", commands: ["handover"], status: 69, text: "no node runs in"),
                    Wrong(name: "node-0", commands: named, more: ["no"], status: 64, text: "has no store no"),
                    Wrong(name: "node-0", commands: ["remove"], status: 1, text: "node-7 is in no set"),
                    Wrong(name: "silent", commands: ["status", "remove"], status: 69, text: ":\(port)"),
                ]
                for one in wrong {
                    for command in one.commands.sorted() {
                        let words = Self.commands[command, default: []] + one.more
                        let (data, begin) = ("\(nodes.folder)/\(one.name)", ContinuousClock.now)
                        let run = try ChildProcess.run(
                            Bench.program, ["cluster", command, "--data", data] + words)
                        #expect(run.status == one.status && run.errors.contains(one.text), "\(command): \(run)")
                        #expect(Bench.lines(run.errors).count == 1, "\(command): \(run)")
                        #expect(begin.duration(to: .now) < .seconds(30), "\(command) of \(one.name)")
                    }
                }
                #expect(silent.isRunning)
                #expect(try nodes.done("cluster", "status", "--data", live, "--json") == before)
            }
        }
    }
#endif

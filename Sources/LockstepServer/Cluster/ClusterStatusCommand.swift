#if Etcd
    import Foundation
    import LockstepCore
    import LockstepFolders
    import LockstepNode

    /// `cluster status`: the records of stores, beside who is listed in etcd.
    struct ClusterStatusCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "status", abstract: "Shows who is the primary of each store, and which nodes are in sync.",
                discussion: """
                    It asks etcd, so it works from the folder of any data node, and says what the nodes have told etcd; what \
                    one node knows is shown by "\(Server.name) status". Members have all that was acknowledged on disk. A node \
                    that is listed and no member yet catches up. Below a store are its nodes' alarms, and why a node has \
                    halted, for some seconds after its end: then it is not listed any more, and its log says why. --json \
                    prints an object for each store.

                    Exit status: 0; 69 if etcd does not answer; with --wait 1 if a store is not well when the time is over: \
                    its primary runs, it has as many members as it needs, each node that is listed is a member, and none has \
                    an alarm.

                      \(Server.name) cluster status --data data/node-a
                      \(Server.name) cluster status --data data/node-a --wait 30
                    """)
        }

        @OptionGroup var place: ClusterPlace
        @Flag(help: "Print one JSON object for each store.")
        var json = false
        @Option(
            help: """
                Wait up to this many seconds until every store has its primary, all listed nodes as members, and no alarm.
                """,
            transform: Within.seconds(0...86_400))
        var wait: Double?
        @Argument(help: "The stores. Default: all of the folder.")
        var stores: [String] = []

        func run() async throws {
            let pictures = try await place.opened { opened in
                let stores = try opened.stores(stores)
                guard let wait else { return try await opened.pictures(of: stores).stores }
                return try await wellPictures(opened, stores, seconds: wait)
            }
            if json {
                for picture in pictures { try Output.json(picture) }
            } else {
                let lines = TextTable.lines([StorePicture.heads] + pictures.map(\.cells))
                Output.line(lines[0])
                for (line, picture) in zip(lines.dropFirst(), pictures) {
                    Output.line(([line] + picture.notes.map { "    " + $0 }).joined(separator: "\n"))
                }
            }
        }

        /// What etcd says when all is well, or an error after `seconds`; an etcd that does not answer now is waited for, too.
        @concurrent private func wellPictures(
            _ opened: ClusterPlace.Opened, _ stores: [String], seconds: Double
        ) async throws -> [StorePicture] {
            let end = ContinuousClock.now + .seconds(seconds)
            let notice = WaitNotice()
            while true {
                var (reason, status) = ("", ExitStatus.failed)
                do {
                    let pictures = try await opened.pictures(of: stores, until: end).stores
                    guard let unready = pictures.compactMap(\.unreadiness).first else { return pictures }
                    reason = unready
                } catch let error as ArbiterError where error.isPassing {
                    (reason, status) = (error.message, ExitStatus.unreachable)
                }
                guard ContinuousClock.now < end else {
                    throw CommandFailure(
                        "the cluster is not well after \(seconds.formatted()) s: \(reason)", status: status)
                }
                notice.waiting(for: "the cluster: \(reason)")
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }

    /// `cluster members`: the nodes that etcd lists, and what each is for the stores.
    struct ClusterMembersCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "members", abstract: "Lists the data nodes, and what each is for the stores.",
                discussion: """
                    A node is listed while it runs and reaches etcd, and some seconds longer. A learner follows a store's \
                    primary and is no member yet. --json prints an object for each node.

                      \(Server.name) cluster members --data data/node-a
                    """)
        }

        @OptionGroup var place: ClusterPlace
        @Flag(help: "Print one JSON object for each node.")
        var json = false

        func run() async throws {
            let rows = try await place.opened { opened in
                let found = try await opened.pictures(of: opened.identity.stores)
                return NodeRow.all(found.stores, found.nodes)
            }
            if json {
                for row in rows { try Output.json(row) }
            } else {
                TextTable.lines([NodeRow.heads] + rows.map(\.cells)).forEach(Output.line)
            }
        }
    }

    /// A data node, as `cluster members` shows it.
    private struct NodeRow: Encodable {
        let node: String
        let isListed: Bool
        let endpoints: [String]
        let primary: [String]
        /// Where it is in the set, and not the primary.
        let member: [String]
        let learner: [String]

        /// Whoever is listed, or a member of a store, in the order of names.
        static func all(_ stores: [StorePicture], _ nodes: [NodeAddress]) -> [NodeRow] {
            let listed = Dictionary(nodes.map { ($0.node.name, $0.endpoints) }) { first, _ in first }
            let names = Set(listed.keys).union(stores.flatMap { $0.inSync.map(\.node) })
            return names.sorted().map { name in
                func named(_ isOne: (StorePicture) -> Bool) -> [String] { stores.filter(isOne).map(\.store) }
                return NodeRow(
                    node: name, isListed: listed[name] != nil, endpoints: listed[name] ?? [],
                    primary: named { $0.primary == name },
                    member: named { $0.primary != name && $0.inSync.contains { $0.node == name } },
                    learner: named { $0.learners.contains { $0.node == name } })
            }
        }

        static let heads = ["NODE", "ENDPOINT", "PRIMARY", "MEMBER", "LEARNER"]

        var cells: [String] {
            [node, isListed ? endpoints.joined(separator: " ") : "not listed"]
                + [primary, member, learner].map { $0.isEmpty ? "-" : $0.joined(separator: ",") }
        }
    }
#endif

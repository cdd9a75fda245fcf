#if Etcd
    import Foundation
    import LockstepCore
    import LockstepFolders
    import LockstepNode

    /// `cluster handover`: the primary of stores gives its post to another data node, and goes on as a standby.
    struct ClusterHandoverCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "handover", abstract: "Has a primary give its post away, and go on as a standby.",
                discussion: """
                    For a host that is to be restarted or relieved. Callers wait for a moment and lose nothing. Without --to \
                    the post goes to a member that has everything. If nobody takes it in time, or not who is named, the \
                    primary goes on, and the exit status is 1.

                      \(Server.name) cluster handover --data data/node-a
                      \(Server.name) cluster handover --data data/node-a counters --to node-b
                    """)
        }

        @OptionGroup var place: OrderedNode
        @Option(help: "The node that is to lead the stores. Default: for each store a member that has everything.")
        var to: String?
        @Argument(help: "The stores. Default: all that the node leads.")
        var stores: [String] = []

        private struct StatusRequest: Encodable { let command = "status" }

        func run() async throws {
            let handovers = Handovers { try await place.ask($0) }
            let named = stores.isEmpty ? try await led(handovers) : stores
            guard !named.isEmpty else { throw CommandFailure("the node leads no store: there is nothing to hand over") }
            try await handovers.run(named.map { ($0, to) })
        }

        /// The stores that the node leads.
        private func led(_ handovers: Handovers) async throws -> [String] {
            let status = try JSONDecoder().decode(NodeStatus.self, from: try await place.ask(StatusRequest()))
            var led: [String] = []
            for store in status.stores where try await handovers.post(of: store.name).isPrimary {
                led.append(store.name)
            }
            return led
        }
    }

    /// `cluster balance`: spreads the posts of the stores evenly over their members.
    struct ClusterBalanceCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "balance", abstract: "Spreads the posts of the stores evenly over the nodes.",
                discussion: """
                    After a failure or a restart one node may lead many stores, and another one none. This gives posts of \
                    the folder's node to nodes that lead fewer. A node can only give away what it leads itself: run it on \
                    each host, one after the other.

                      \(Server.name) cluster balance --data data/node-a
                    """)
        }

        @OptionGroup var place: ClusterPlace

        func run() async throws {
            let (folder, moves) = try await place.opened { opened in
                let listed = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }
                var records: [String: ConfigurationRecord] = [:]
                for store in opened.identity.stores { records[store] = try await opened.record(of: store).record }
                return (
                    opened.folder, PostBalance(records, listed: listed.map(\.node)).moves(of: opened.node)
                )
            }
            guard !moves.isEmpty else {
                return Output.line("this node leads no store that another one should lead: nothing was changed")
            }
            try await folder.handovers.run(moves.map { ($0.store, $0.to.name) })
        }
    }
#endif

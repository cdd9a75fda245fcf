#if Etcd
    /// `cluster`: the data nodes of a cluster, and the configuration records of its stores in etcd.
    public struct ClusterCommand<Server: LockstepServer>: ParsableCommand {
        /// The command, with an example.
        public static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "cluster", abstract: "Makes, shows and changes a cluster of several data nodes.",
                discussion: """
                    Of several data nodes one is the primary of a store, and another takes its place when it fails. etcd \
                    keeps a record of each store: who is the primary, and which nodes have all that was acknowledged. Each \
                    command asks the etcd that the node's folder notes.

                      \(Server.name) cluster create --data data/node-a
                      \(Server.name) cluster status --data data/node-a
                      \(Server.name) cluster members --data data/node-a
                    """,
                subcommands: [
                    ClusterCreateCommand<Server>.self, ClusterStatusCommand<Server>.self,
                    ClusterMembersCommand<Server>.self, ClusterHandoverCommand<Server>.self,
                    ClusterBalanceCommand<Server>.self, ClusterMinimumCommand<Server>.self,
                    ClusterRemoveCommand<Server>.self, ClusterPromoteCommand<Server>.self,
                    ClusterRebindCommand<Server>.self, ClusterAdoptCommand<Server>.self,
                    ClusterLeaveCommand<Server>.self, ClusterEtcdCommand<Server>.self,
                ])
        }

        /// Read from the command line.
        public init() {}
    }
#endif

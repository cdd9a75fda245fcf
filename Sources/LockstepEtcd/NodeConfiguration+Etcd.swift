#if Etcd
    public import LockstepCore
    public import LockstepNode

    extension NodeConfiguration {
        /// A node that may become the primary of its stores, as the records in etcd have it.
        ///
        /// Of several data nodes one is the primary of a store; when it fails, another takes its place, and nothing that
        /// was acknowledged is lost. The journals are made with the command `init --etcd`, which every program of
        /// LockstepServer has, and the records of the stores with `cluster create`. The node talks to etcd from
        /// ``Node/run()`` on, and is listed there as long as it runs.
        ///
        /// - Parameters:
        ///   - node: The node's name, with which its journals were made: a record knows its members by their names, and a
        ///     node of another name never leads.
        ///   - listen: `tcp://HOST:PORT` of an address that the others reach; the node takes this port and the three after it.
        ///   - journal: Where the log is kept, on a disk.
        ///   - etcd: Who keeps the records.
        /// - Returns: A data node's configuration, with defaults for the rest.
        public static func dataNode(
            _ node: NodeID, listen: String, journal: JournalSource, etcd: EtcdConfiguration
        ) -> NodeConfiguration {
            let arbiter = ArbiterSource(
                check: { try etcd.check() }, open: { cluster in try EtcdArbiter(etcd, cluster: cluster) })
            var configuration = NodeConfiguration(role: .data(listen: listen, journal: journal, arbiter: arbiter))
            configuration.node = node
            return configuration
        }
    }
#endif

#if Etcd
    import LockstepCore
    import LockstepFolders
    import LockstepNode

    /// `cluster create`: makes the records of new stores (PROTOCOL, R-75).
    struct ClusterCreateCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "create", abstract: "Makes the records of a cluster's new stores in etcd, once.",
                discussion: """
                    This folder's node is the first primary of the stores, and their only member; the other data nodes become \
                    members by themselves, as soon as they follow it. It is refused for a store that has a record, or entries \
                    in this folder or at a node that is listed. Without names, stores that have a record are passed over; \
                    with several names, those that this node leads already, with that minimum. The other nodes are asked by \
                    this node's own keys; if its configuration names them and not its folder, say --keys and --access.

                    --minimum says how many members must have an action on disk before it is acknowledged. With 2 nothing \
                    is acknowledged before a second node runs, and nothing that was is lost with one disk. With 1 a standby \
                    that takes over may go on alone, and then holds what nobody else has.

                      \(Server.name) cluster create --data data/node-a
                      \(Server.name) cluster create --data data/node-a --minimum 1 counters
                    """)
        }

        @OptionGroup var place: ClusterPlace
        @OptionGroup var nodeKeys: NodeKeyOptions<Server>
        @Option(
            help: "How many members must have what is acknowledged: 1 to 16. (default: 2)",
            transform: Within.whole(1...Limits.inSyncMembers))
        var minimum = 2
        @Argument(help: "The stores. Default: all of the folder.")
        var stores: [String] = []

        func run() async throws {
            try await place.opened { opened in
                let keys = try opened.folder.keys(of: opened.identity, keys: nodeKeys.keys, access: nodeKeys.access)
                var passedOver: CommandFailure?
                var isDone = false
                for store in try opened.stores(stores) {
                    let creation = RecordCreation(opened: opened, store: store, minimum: minimum, keys: keys)
                    if stores.count != 1, let refusal = try await creation.refusalOfChanged(ifOurs: !stores.isEmpty) {
                        Output.line("\(store) is passed over: it has a record")
                        passedOver = passedOver ?? refusal
                        continue
                    }
                    Output.line(try await creation.run())
                    isDone = true
                }
                if let passedOver, !isDone { throw passedOver }
            }
        }
    }

    /// The making of one store's record; it may be repeated.
    private struct RecordCreation {
        let opened: ClusterPlace.Opened
        let store: String
        let minimum: Int
        /// By which keys the other nodes are asked; nil: nodes without keys.
        let keys: NodeKeys?

        /// How often etcd is asked for the same record while the outcome is unknown.
        private static let tries = 3

        /// Why no record is made where nodes have changed the one that there is: the store is in use; nil: it is not.
        ///
        /// `ifOurs`: only where this node leads, so that it may have been made by an earlier asking.
        @concurrent func refusalOfChanged(ifOurs: Bool) async throws -> CommandFailure? {
            let known = try await opened.ask { try await $0.record(of: store, within: ClusterPlace.patience) }?.record
            guard let known, known.number > 1 else { return nil }
            guard ifOurs else { return exists(known) }
            let own = Member(node: opened.node, incarnation: try await opened.journal(of: store).incarnation)
            return known.primary.member == own && known.minimum == minimum ? exists(known) : nil
        }

        /// Makes the record, if it is not there yet as it would be made; returns a line for the user.
        @concurrent func run() async throws -> String {
            let journal = try await opened.journal(of: store)
            let member = Member(node: opened.node, incarnation: journal.incarnation)
            let known = try await opened.ask { try await $0.record(of: store, within: ClusterPlace.patience) }?.record
            if let known, !isOurs(known, member) { throw exists(known) }
            if known != nil { return "\(store) has its record already: nothing was changed" }
            guard journal.end == 0 else {
                throw CommandFailure(
                    "the journal of \(store) in \(opened.folder.path) has entries, and only a new store is created: "
                        + "if its record was lost, use \"cluster rebind\"")
            }
            var generator = SystemRandomNumberGenerator()
            let id = StoreID(cluster: opened.cluster, name: store)
            let nodes = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }
            try await opened.checkOthersAreEmpty(nodes, store: store, keys: keys)
            let address = nodes.first { $0.node == opened.node }
            let record = ConfigurationRecord(
                cluster: opened.cluster, store: id, channel: journal.channel, epoch: Epoch(rawValue: 1),
                primary: .init(member: member, boot: .none, endpoints: address?.endpoints ?? []),
                openedAfter: .start(of: id), minimum: minimum, attempt: AttemptID(using: &generator))
            try await create(record, member)
            return "\(store) has a record: its first primary is \(opened.node), minimum \(minimum)"
        }

        @concurrent private func create(_ record: ConfigurationRecord, _ member: Member) async throws {
            var reason: String?
            for _ in 0..<Self.tries {
                switch try await opened.ask({ await $0.create(record, of: store, within: ClusterPlace.patience) }) {
                case .created: return
                case .exists(let stored):
                    // The node may have written another one since.
                    let isMade = isOurs(stored.record, member) || reason != nil && stored.record.goesOn(from: record)
                    guard isMade else { throw exists(stored.record) }
                    return
                case .channelTaken(let owner): throw taken(record.channel, by: owner)
                case .unknown(let text): reason = try await ClusterPlace.pause(after: text)
                }
            }
            throw CommandFailure(
                "whether \(store) has a record now is not known (\(reason ?? "")): run the same command again",
                status: .outcomeUnknown)
        }

        /// Whether a record is the one that this command makes, and no node has changed it yet.
        private func isOurs(_ record: ConfigurationRecord, _ member: Member) -> Bool {
            record.number == 1 && record.primary.member == member && record.minimum == minimum
        }

        private func exists(_ record: ConfigurationRecord) -> CommandFailure {
            CommandFailure(
                "etcd has a record of \(store): number \(record.number), epoch \(record.epoch), primary "
                    + "\(record.primary.member.node), minimum \(record.minimum); nothing was changed")
        }

        private func taken(_ channel: Channel, by owner: String) -> CommandFailure {
            owner == store
                ? CommandFailure("etcd has lost the record of \(store), which it once had: use \"cluster rebind\"")
                : CommandFailure(
                    "channel \(channel.rawValue) of \(store) is that of the store \(owner): all programs of a cluster have the "
                        + "same stores in the same order")
        }
    }
#endif

#if Etcd
    import LockstepCore
    import LockstepFolders
    import LockstepNode
    import LockstepSQLite

    /// `cluster adopt`: the folder of a cluster's one primary becomes a data node's (PROTOCOL, R-85).
    struct ClusterAdoptCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "adopt",
                abstract: "Makes the folder of a stopped primary a data node's, with all that it has.",
                discussion: """
                    For a cluster of one primary that is to have several data nodes. Nothing of the log changes; what it \
                    holds counts as acknowledged. From then on the folder is only served as a data node's. The other data \
                    nodes are new ones ("init --etcd --cluster"), and replicas follow as before. If it was interrupted, run \
                    it again.

                      \(Server.name) cluster adopt --data data/primary --etcd http://127.0.0.1:2379
                    """)
        }

        @Option(help: "The folder of the primary, whose node is stopped.")
        var data: String
        @OptionGroup(title: "etcd") var etcd: EtcdOptions
        @Option(
            help:
                "How many members must have what is acknowledged; with 2 a second data node must follow first. (default: 2)",
            transform: Within.whole(1...Limits.inSyncMembers))
        var minimum = 2

        func run() async throws {
            let folder = NodeFolder(data)
            let identity = try folder.identity()
            guard let noted = try etcd.noted(in: folder) else {
                throw ValidationError("name the etcd that is to keep the records with --etcd URL")
            }
            if let before = identity.etcd, before != noted {
                throw CommandFailure(
                    "\(folder.path) is a data node's folder already, with another etcd: \"cluster etcd\" changes that",
                    status: .usage)
            }
            let stores = try await ClusterPlace.opened(folder, identity, noted) { opened in
                try await Adoption(opened: opened, minimum: minimum).run(noting: noted)
                return opened.identity.stores
            }
            Output.line("\(folder.path) is a data node's folder now, with \(stores.joined(separator: ", "))")
        }
    }

    /// Takes a folder over.
    ///
    /// First all is looked at, then the journals are marked, then the folder notes its etcd, then the records are made.
    /// Done again after an interruption it goes on where it was.
    private struct Adoption {
        let opened: ClusterPlace.Opened
        let minimum: Int

        /// A journal that is held for the time of the command, so that no node runs.
        private struct Held {
            var store: String
            var journal: SQLiteJournal
            var end: Position { journal.head }
        }

        @concurrent func run(noting etcd: NodeFolder.Identity.Etcd) async throws {
            var held: [Held] = []
            defer { for one in held { one.journal.close() } }
            for store in opened.identity.stores { held.append(try hold(store)) }
            try SQLiteJournal.openVerified(held.map(\.journal))
            let channels = try await opened.ask { try await $0.channels(within: ClusterPlace.patience) }
            var missing: [Held] = []
            for one in held where try await !hasRecord(one, channels) { missing.append(one) }
            for one in held { try one.journal.markArbitrated() }
            var identity = opened.identity
            identity.etcd = etcd
            if identity.etcd != opened.identity.etcd { try opened.folder.write(identity) }
            for one in missing { try await opened.create(record(of: one), of: one.store) }
        }

        /// Takes a journal, which a running node would not allow, and refuses one that is not a primary's.
        private func hold(_ store: String) throws -> Held {
            let folder = opened.folder
            let journal = try folder.openJournal(
                opened.identity, cluster: opened.cluster, store: store, isForDataNode: true)
            do {
                if let role = try JournalRole(notedIn: journal), role != .primary {
                    throw CommandFailure(
                        "\(folder.path) was served as a replica: adopt the primary's folder, and make this host's anew with "
                            + "\"init --etcd\"")
                }
                guard try journal.note(.recovering) == nil else {
                    throw CommandFailure(
                        "the recovery of \(store) in \(folder.path) has not ended: run \"recover\" first")
                }
                return Held(store: store, journal: journal)
            } catch {
                journal.close()
                throw error
            }
        }

        private func member(_ one: Held) -> Member {
            Member(node: opened.node, incarnation: one.journal.identity.incarnation)
        }

        /// Whether the record is there, as this command makes it; another one, or another's channel, is refused.
        @concurrent private func hasRecord(_ one: Held, _ channels: [Channel: String]) async throws -> Bool {
            let (store, patience) = (one.store, ClusterPlace.patience)
            if let record = try await opened.ask({ try await $0.record(of: store, within: patience) })?.record {
                guard record.number == 1, record.primary.member == member(one) else {
                    throw CommandFailure(
                        "etcd has a record of \(one.store) already: number \(record.number), primary "
                            + "\(record.primary.member.node); nothing was changed")
                }
                guard record.minimum == minimum else {
                    throw CommandFailure(
                        "etcd has the record of \(one.store) already, with the minimum \(record.minimum): say "
                            + "--minimum \(record.minimum), and change it with \"cluster minimum\" when the node "
                            + "runs; nothing was changed")
                }
                return true
            }
            if let owner = channels[one.journal.identity.channel] {
                throw CommandFailure(
                    "channel \(one.journal.identity.channel) of \(one.store) is given to \(owner) in etcd: is this the "
                        + "etcd of another cluster? nothing was changed")
            }
            return false
        }

        private func record(of one: Held) -> ConfigurationRecord {
            var generator = SystemRandomNumberGenerator()
            return ConfigurationRecord(
                cluster: opened.cluster, store: one.journal.identity.store, channel: one.journal.identity.channel,
                epoch: max(one.end.epoch, Epoch(rawValue: 1)),
                primary: .init(member: member(one), boot: .none, endpoints: []), openedAfter: one.end, minimum: minimum,
                attempt: AttemptID(using: &generator))
        }
    }

    /// `cluster leave`: the folder of a data node becomes a primary's that is alone (PROTOCOL, R-85).
    struct ClusterLeaveCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "leave",
                abstract: "Makes the folder of a stopped data node that of a cluster's one primary.",
                discussion: """
                    For going back to one primary without etcd. Stop all data nodes first, the one that is to stay last: then \
                    it has everything. What only other nodes have is lost, and so is what the folder's own journal lacks \
                    of what was acknowledged, which is said. Their folders are not used any more: replicas are \
                    made with "init --cluster".

                      \(Server.name) cluster leave --data data/node-a --accept-loss
                    """)
        }

        @OptionGroup var place: ClusterPlace
        @Flag(help: "What was acknowledged and this folder does not have may be lost.")
        var acceptLoss = false

        func run() async throws {
            let folder = NodeFolder(place.data)
            let identity = try folder.identity()
            guard acceptLoss else {
                throw CommandFailure(
                    "nothing was changed: what only other data nodes have would be lost; say --accept-loss to go on",
                    status: .usage)
            }
            do {
                try await place.opened { opened in
                    do {
                        try await checkAlone(opened)
                    } catch let error as ArbiterError where error.kind == .unavailable {
                        throw CommandFailure(
                            "etcd is there, and cannot say now whether other data nodes run; run the same command again "
                                + "(\(error.message))")
                    }
                }
            } catch let failure as CommandFailure {
                // A cluster is also left because its etcd is gone.
                guard failure.status == .unreachable else { throw failure }
                Output.error("etcd does not answer, so nobody knows whether other data nodes run: \(failure.message)")
            }
            let cluster = try parseCluster(identity.cluster)
            var journals: [SQLiteJournal] = []
            defer { for journal in journals { journal.close() } }
            for store in identity.stores {
                journals.append(
                    try folder.openJournal(identity, cluster: cluster, store: store, isForDataNode: true))
            }
            // The flag covers what is missing here, too, but it must not go without a word.
            for (store, missing) in zip(identity.stores, try journals.map { try $0.whatIsMissing() }) {
                guard let missing else { continue }
                Output.error("\(store): \(missing); what is missing is given up")
            }
            for journal in journals {
                try journal.openForRepair()
                try journal.removeArbitratedMark()
                try journal.setNote(.role, to: JournalRole.primary.rawValue)
            }
            var alone = identity
            alone.etcd = nil
            try folder.write(alone)
            Output.line(
                "\(folder.path) is a primary's folder now, without etcd; what its journals hold is acknowledged")
        }

        /// Refuses while another data node runs, which would lead the stores on; says who has the posts.
        @concurrent private func checkAlone(_ opened: ClusterPlace.Opened) async throws {
            let others = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }.map(\.node)
                .filter { $0 != opened.node }
            guard others.isEmpty else {
                throw CommandFailure(
                    "\(others.map(\.name).joined(separator: ", ")) \(others.count == 1 ? "runs" : "run") (etcd lists them) "
                        + "and would lead the stores on: stop all other data nodes first, and wait 10 s")
            }
            for store in opened.identity.stores {
                let stored = try await opened.ask { try await $0.record(of: store, within: ClusterPlace.patience) }
                guard let primary = stored?.record.primary.member.node, primary != opened.node else { continue }
                Output.error("\(primary) was the last primary of \(store), and may have more than \(opened.node)")
            }
        }
    }
#endif

#if Etcd
    import LockstepCore
    import LockstepNode

    /// `cluster minimum`: how many members must have what is acknowledged (PROTOCOL, R-75, R-78).
    struct ClusterMinimumCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "minimum", abstract: "Changes how many members must have what is acknowledged.",
                discussion: """
                    For a cluster that has become larger, as after "cluster adopt --minimum 1", or smaller. The node of the \
                    folder runs, and tells the primaries, which the command waits for; the stores go on meanwhile. A higher \
                    minimum is refused while fewer members are there. What was acknowledged before is not looked at. With the \
                    minimum 1 a standby that takes over may go on alone, and then holds what nobody else has.

                      \(Server.name) cluster minimum 2 --data data/node-a
                      \(Server.name) cluster minimum 1 --data data/node-a counters
                    """)
        }

        @Argument(
            help: "How many members must have an action on disk before it is acknowledged: 1 to 16.",
            transform: Within.whole(1...Limits.inSyncMembers))
        var minimum: Int
        @OptionGroup var place: ClusterPlace
        @Argument(help: "The stores. Default: all of the folder.")
        var stores: [String] = []

        func run() async throws {
            try await place.opened { opened in
                let listed = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }
                var changes: [(store: String, old: StoredRecord, new: ConfigurationRecord?)] = []
                for (store, old, _) in try await opened.checkedRecords(of: opened.stores(stores), listed: listed) {
                    let order = opened.order(of: store, listed: listed)
                    changes.append((store, old, try order.requirement(of: minimum, in: old.record)))
                }
                for change in changes {
                    guard let new = change.new else {
                        Output.line("\(change.store) has the minimum \(minimum) already: nothing was changed")
                        continue
                    }
                    try await opened.write(new, replacing: change.old, of: change.store)
                    let primary = new.primary.member.node
                    let isKnown = try await opened.waitUntilKnown(new, of: change.store, listed: listed)
                    let members = new.inSync.map(\.node.name).joined(separator: ", ")
                    Output.line(
                        "the minimum of \(change.store) is \(minimum) now, of \(members)"
                            + (isKnown ? "" : "; \(primary) is not there, and the next primary goes by it"))
                }
            }
        }
    }
#endif

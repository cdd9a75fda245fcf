#if Etcd
    import LockstepCore
    import LockstepNode

    /// `cluster remove`: takes a node that is gone for good out of the sets (PROTOCOL, R-76).
    struct ClusterRemoveCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "remove", abstract: "Takes a node that is gone for good out of the in-sync sets.",
                discussion: """
                    A primary removes a silent member by itself, but never below the minimum, and not while it hears no other \
                    data node: then nothing is acknowledged, and the alarm INSUFFICIENT_MEMBERS says so. If the host does not come back, start another data node, or \
                    lower the minimum here. Without stores it is taken out of all sets that have it. It is refused while the node is \
                    listed.

                      \(Server.name) cluster remove node-c --data data/node-a
                      \(Server.name) cluster remove node-b --data data/node-a --minimum 1
                    """)
        }

        @Argument(help: "The node's name.")
        var node: String
        @OptionGroup var place: ClusterPlace
        @OptionGroup var orders: RecordOptions

        func run() async throws {
            try await place.opened { opened in
                let gone = try parseNode(node)
                let listed = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }
                var changes: [(store: String, old: StoredRecord, new: ConfigurationRecord)] = []
                let stores = try opened.stores(orders.stores)
                for (store, old) in try await opened.recordsIfChecked(of: stores, listed: listed) {
                    guard old.record.inSync.contains(where: { $0.node == gone }) else {
                        if !orders.stores.isEmpty { Output.line("\(store) is passed over: \(gone) is not in its set") }
                        continue
                    }
                    let order = opened.order(of: store, listed: listed)
                    changes.append((store, old, try order.removal(of: gone, from: old.record, minimum: orders.minimum)))
                }
                guard !changes.isEmpty else {
                    let sets = orders.stores.isEmpty ? "no set" : "no set of those stores"
                    throw CommandFailure("\(gone) is in \(sets): nothing was changed")
                }
                for change in changes {
                    try await opened.write(change.new, replacing: change.old, of: change.store)
                    let rest = change.new.inSync.map(\.node.name).joined(separator: ", ")
                    Output.line("\(gone) left the set of \(change.store): \(rest), minimum \(change.new.minimum)")
                }
            }
        }
    }
#endif

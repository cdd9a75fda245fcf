#if Etcd
    import LockstepCore
    import LockstepNode

    /// `cluster promote`: the set is gone, and the folder's node goes on with what it has (PROTOCOL, R-75).
    struct ClusterPromoteCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "promote", abstract: "Makes the folder's node the primary, since the in-sync set is gone.",
                discussion: """
                    While a member of the set is left, it takes over by itself and nothing is lost. This is for when all of \
                    them are gone for good: the running node of the folder becomes the only member and the primary, with \
                    what it has. What was acknowledged and only the others had is lost; a node or client that knows more \
                    says so. With several nodes left, take the one whose log goes furthest: "\(Server.name) status". \
                    After an interruption, run it again: stores that the node leads are passed over.

                      \(Server.name) cluster promote --data data/node-c --accept-loss
                    """)
        }

        @OptionGroup var place: ClusterPlace
        @Flag(help: "What was acknowledged and this node does not have may be lost.")
        var acceptLoss = false
        @OptionGroup var orders: RecordOptions

        func run() async throws {
            try await place.opened { opened in
                let listed = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }
                var changes: [(store: String, old: StoredRecord, new: ConfigurationRecord)] = []
                var passedOver: CommandFailure?
                let stores = try opened.stores(orders.stores)
                for (store, old, post) in try await opened.checkedRecords(of: stores, listed: listed) {
                    let order = opened.order(of: store, listed: listed)
                    do {
                        let new = try order.promotion(of: post, in: old.record, minimum: orders.minimum)
                        changes.append((store, old, new))
                    } catch let failure as CommandFailure where post.isPrimary {
                        Output.line("\(store) is passed over: \(opened.node) is its primary already")
                        passedOver = passedOver ?? failure
                        continue
                    }
                    for other in post.further { Output.line("\(store): \(other) has more than \(opened.node)") }
                }
                if let passedOver, changes.isEmpty { throw passedOver }
                guard acceptLoss else {
                    throw CommandFailure(
                        "nothing was changed: what was acknowledged and \(opened.node) does not have would be lost; say "
                            + "--accept-loss to go on", status: .usage)
                }
                for change in changes {
                    try await opened.write(change.new, replacing: change.old, of: change.store)
                    let epoch = try await opened.waitUntilPrimary(of: change.store, by: change.new)
                    Output.line(
                        "\(opened.node) is the primary of \(change.store) in epoch \(epoch), alone; minimum "
                            + "\(change.new.minimum)")
                }
            }
        }
    }

    /// `cluster rebind`: binds stores to an etcd that was set back or lost (PROTOCOL, R-81).
    struct ClusterRebindCommand<Server: LockstepServer>: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "rebind",
                abstract: "Lets the nodes believe an etcd that was restored from an old copy, or lost.",
                discussion: """
                    Nodes remember what etcd has shown them. If it shows less, they do not believe it, and no node leads. \
                    This writes a record that is newer than all that any node remembers: the running node of the folder leads \
                    alone, and the others become members as they follow it. Nothing is lost if all data nodes run: it is \
                    refused where another one has more, and while a member does not run. What only such a member has is \
                    lost if it is named with --without. Each store may have its most on another host: those that cannot be \
                    bound here are left, and it is said where to go on.

                      \(Server.name) cluster rebind --data data/node-a
                      \(Server.name) cluster rebind --data data/node-a --yes
                    """)
        }

        @OptionGroup var place: ClusterPlace
        @Flag(help: "Do it. Without it, it is said what would be done.")
        var yes = false
        @Option(help: "A member that is gone for good; what only it has is lost. May be repeated.")
        var without: [String] = []
        @OptionGroup var orders: RecordOptions

        func run() async throws {
            try await place.opened { opened in
                let listed = try await opened.ask { try await $0.nodes(within: ClusterPlace.patience) }
                var wanted: [(store: String, old: StoredRecord?, new: ConfigurationRecord)] = []
                // Each store has its own place: one that belongs to another host does not keep the rest from this one.
                var left: [CommandFailure] = []
                for store in try opened.stores(orders.stores) {
                    let post = try await opened.lookedAtPost(of: store, listed: listed)
                    let old = try await opened.ask { try await $0.record(of: store, within: ClusterPlace.patience) }
                    let order = opened.order(of: store, listed: listed)
                    guard order.isSetBack(old, post) else {
                        Output.line("\(store): etcd shows all that the nodes remember; nothing is to be done")
                        continue
                    }
                    let new: ConfigurationRecord
                    do {
                        new = try order.rebinding(
                            of: post, in: old?.record, cluster: opened.cluster, minimum: orders.minimum,
                            without: without)
                    } catch let failure as CommandFailure {
                        left.append(failure)
                        continue
                    }
                    wanted.append((store, old, new))
                    let shown = old.map { "record \($0.record.number)" } ?? "no record"
                    Output.line(
                        "\(store): etcd shows \(shown), the nodes remember \(post.number); \(opened.node) has the most of "
                            + "those that run (\(listed.map(\.node.name).joined(separator: ", "))); the minimum will be "
                            + "\(new.minimum)")
                }
                // Each is said: every store may name another host.
                let last = left.popLast()
                for failure in left { Output.error(failure.message) }
                if wanted.isEmpty {
                    guard let last else { return }
                    throw last
                }
                guard yes else {
                    if let last { Output.error(last.message) }
                    throw CommandFailure("nothing was changed: say --yes to go on", status: .usage)
                }
                for one in wanted {
                    if let old = one.old {
                        try await opened.write(one.new, replacing: old, of: one.store)
                    } else {
                        try await opened.create(one.new, of: one.store)
                    }
                    let epoch = try await opened.waitUntilPrimary(of: one.store, by: one.new)
                    Output.line(
                        "\(opened.node) is the primary of \(one.store) in epoch \(epoch); minimum \(one.new.minimum)")
                }
                if let last { throw last }
            }
        }
    }
#endif

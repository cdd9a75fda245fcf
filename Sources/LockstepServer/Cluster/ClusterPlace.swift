#if Etcd
    import LockstepCore
    import LockstepFolders
    import LockstepNode

    /// For which stores a command writes records, and with which minimum.
    struct RecordOptions: ParsableArguments {
        @Option(
            help: "How many members must have what is acknowledged from now on. Default: the highest that is known.",
            transform: Within.whole(1...Limits.inSyncMembers))
        var minimum: Int?
        @Argument(help: "The stores. Default: all of the folder.")
        var stores: [String] = []
    }

    /// What each command of `cluster` is told, and how it reaches the etcd of the folder.
    struct ClusterPlace: ParsableArguments {
        @Option(help: "A data node's folder, as \"init --etcd\" made it.")
        var data: String

        /// How long one question to etcd may take.
        static var patience: Duration { .seconds(5) }

        /// A while in which what ails etcd may pass, before a write whose outcome is unknown is asked again; returns the
        /// reason.
        @concurrent static func pause(after reason: String) async throws -> String {
            try await Task.sleep(for: .milliseconds(200))
            return reason
        }

        /// A data node's folder with its open arbiter.
        struct Opened: Sendable {
            let folder: NodeFolder
            let identity: NodeFolder.Identity
            let cluster: ClusterID
            let node: NodeID
            fileprivate let arbiter: any Arbiter
            private let etcd: String
            private let notice = WaitNotice()

            fileprivate init(
                _ folder: NodeFolder, _ identity: NodeFolder.Identity, _ etcd: NodeFolder.Identity.Etcd
            ) throws {
                self.folder = folder
                self.identity = identity
                self.etcd = etcd.endpoints.joined(separator: ", ")
                cluster = try parseCluster(identity.cluster)
                node = try parseNode(identity.node)
                arbiter = try folder.arbiter(etcd, cluster: cluster)
            }

            /// Asks etcd, and says once that it waits if an answer takes longer than a second.
            @concurrent func ask<Answer: Sendable>(
                _ question: @concurrent (any Arbiter) async throws -> Answer
            ) async throws -> Answer {
                try await notice.during("an answer of the etcd at \(etcd)") { try await question(arbiter) }
            }

            /// The stores that were named, or all of the folder if none was.
            ///
            /// - Throws: ``CommandFailure`` for one that the folder does not have.
            func stores(_ named: [String]) throws -> [String] {
                if let wrong = named.first(where: { !identity.stores.contains($0) }) {
                    throw CommandFailure(
                        "\(folder.path) has no store \(wrong): it has \(identity.stores.joined(separator: ", "))",
                        status: .usage)
                }
                return named.isEmpty ? identity.stores : identity.stores.filter(named.contains)
            }

            /// The record of a store.
            ///
            /// - Throws: ``CommandFailure`` if there is none, ``ArbiterError``.
            @concurrent func record(of store: String) async throws -> StoredRecord {
                let record = try await ask { try await $0.record(of: store, within: ClusterPlace.patience) }
                guard let record else {
                    throw CommandFailure(
                        "etcd has no record of \(store): make it with \"cluster create\" if it never had one, and with \"cluster "
                            + "rebind\" if it was lost")
                }
                return record
            }
        }

        static func noDataNode(_ folder: NodeFolder) -> CommandFailure {
            CommandFailure("\(folder.path) is no data node's folder: one is made with \"init --etcd\"", status: .usage)
        }

        /// Runs `body` with the folder's arbiter, which is closed afterwards.
        ///
        /// What etcd does not answer becomes a ``CommandFailure`` with its exit status.
        @concurrent func opened<Value: Sendable>(
            _ body: @concurrent (Opened) async throws -> Value
        ) async throws -> Value {
            let folder = NodeFolder(data)
            let identity = try folder.identity()
            guard let etcd = identity.etcd else { throw Self.noDataNode(folder) }
            return try await Self.opened(folder, identity, etcd, body)
        }

        /// The same with an etcd that the folder may not note yet.
        @concurrent static func opened<Value: Sendable>(
            _ folder: NodeFolder, _ identity: NodeFolder.Identity, _ etcd: NodeFolder.Identity.Etcd,
            _ body: @concurrent (Opened) async throws -> Value
        ) async throws -> Value {
            let opened = try Opened(folder, identity, etcd)
            let result: Result<Value, any Error>
            do { result = .success(try await body(opened)) } catch { result = .failure(error) }
            await opened.arbiter.close()
            do { return try result.get() } catch let error as ArbiterError {
                throw CommandFailure(error.message, status: error.isPassing ? .unreachable : .failed)
            }
        }
    }
#endif

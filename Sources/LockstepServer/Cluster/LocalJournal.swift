#if Etcd
    import Foundation
    import LockstepCore
    import LockstepFolders
    import LockstepNode
    import LockstepSQLite

    /// What the journal of a store is, whether the node of its folder runs or not.
    struct LocalJournal: Sendable {
        let incarnation: Incarnation
        let channel: Channel
        /// The end of its log, with what is not committed.
        let end: UInt64
    }

    extension ClusterPlace.Opened {
        /// Looks at the journal of a store, or asks the running node about it.
        ///
        /// - Throws: ``LockstepError``, and ``CommandFailure`` if the journal is no data node's.
        @concurrent func journal(of store: String) async throws -> LocalJournal {
            do { return try await askedJournal(of: store) } catch let error as LockstepError {
                guard case .notRunning? = error.underlying as? AdministrationFailure else { throw error }
            }
            let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
            defer { try? reader.close() }  // Nothing was written.
            guard reader.arbitration != nil else { throw noDataNode(store) }
            return LocalJournal(
                incarnation: reader.identity.incarnation, channel: reader.identity.channel,
                end: try reader.end().sequence.rawValue)
        }

        private func askedJournal(of store: String) async throws -> LocalJournal {
            let status = try await folder.decodedStatus()
            guard let found = status.stores.first(where: { $0.name == store }) else {
                throw CommandFailure("the node in \(folder.path) does not have \(store) yet: restart it")
            }
            guard let data = found.dataNode, let channel = found.channel,
                let incarnation = found.incarnation.flatMap(Incarnation.init(hexadecimal:))
            else { throw noDataNode(store) }
            return LocalJournal(
                incarnation: incarnation, channel: Channel(rawValue: UInt16(channel)), end: data.end)
        }

        /// Refuses while another data node that is listed has entries of a store, or does not say.
        ///
        /// Those nodes are asked by `keys`; nil: they have none.
        @concurrent func checkOthersAreEmpty(_ nodes: [NodeAddress], store: String, keys: NodeKeys?) async throws {
            let keys = try LinkKeys(keys)
            for other in nodes where other.node != node {
                guard let endpoint = other.endpoints.first else { continue }
                let answer: Data
                do {
                    answer = try await AdministrationClient.ask(at: endpoint, keys: try keys.all(for: endpoint))
                } catch let error as LockstepError {
                    throw CommandFailure(
                        "\(other.node) is listed, and does not say whether it has entries of \(store): \(error.message)",
                        status: .unreachable)
                }
                let status = try JSONDecoder().decode(NodeStatus.self, from: answer)
                guard let found = status.stores.first(where: { $0.name == store }) else { continue }
                guard max(found.commit, found.dataNode?.end ?? 0) == 0 else {
                    throw CommandFailure(
                        "\(other.node) has entries of \(store), and only a new store is created: if its record was lost, "
                            + "use \"cluster rebind\"")
                }
            }
        }

        private func noDataNode(_ store: String) -> CommandFailure {
            CommandFailure("the journal of \(store) in \(folder.path) is no data node's; see \"cluster adopt\"")
        }
    }
#endif

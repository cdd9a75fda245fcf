#if Etcd
    import Foundation
    package import LockstepCore
    package import LockstepNode

    /// The arbiter that etcd is: records, channels and node addresses are its keys (PROTOCOL, R-75, R-76).
    ///
    /// It speaks etcd's JSON gateway (decision 0033). Reads are linearizable ranges, and go on to another member after an
    /// error; a write is one transaction that is sent to one member once. Any thread may call it. It keeps connections
    /// open until ``close()``.
    package final class EtcdArbiter: Arbiter {
        package let cluster: ClusterID
        let keys: EtcdKeys
        let gateway: EtcdGateway

        /// An answer with one record: its value in base64, and what is around it.
        private static let recordAnswerBytes = ArbiterLimits.recordBytes * 4 / 3 + (16 << 10)
        /// An answer with a list; keys and revisions take more room than what they name.
        static let listAnswerBytes = ArbiterLimits.listBytes * 4 / 3 + (16 << 10)

        /// Checks a configuration and reads its files; it connects with the first call.
        ///
        /// The files are read once: a new certificate is used by the next arbiter. An error is a ``LockstepError`` that
        /// says what to change.
        package init(_ configuration: EtcdConfiguration, cluster: ClusterID) throws(LockstepError) {
            let checked = try CheckedEtcdConfiguration(configuration)
            self.cluster = cluster
            keys = EtcdKeys(prefix: checked.prefix, cluster: cluster)
            gateway = EtcdGateway(checked)
        }

        @concurrent package func close() async { await gateway.close() }

        // MARK: - Records

        @concurrent package func record(of store: String, within limit: Duration) async throws -> StoredRecord? {
            let answer = try await gateway.read(
                "/v3/kv/range", RangeRequest(key: keys.record(store)), as: RangeAnswer.self,
                atMost: Self.recordAnswerBytes, within: limit)
            return try stored(store, answer.kvs)
        }

        @concurrent package func transact(
            _ attempt: RecordAttempt, on store: String, within limit: Duration
        ) async -> AttemptOutcome {
            let (compared, proposed) = (attempt.compared, attempt.proposed)
            precondition(proposed.mismatch(cluster: cluster, store: store) == nil, "the record is of this store")
            let (key, value) = (keys.record(store), Data(proposed.bytes))
            if let problem = Self.tooLong(value) { return .unknown(problem) }
            let request = TxnRequest(
                compare: [.isRevision(key, compared.revision), .isValue(key, Data(compared.record.bytes))],
                success: [.put(key, value)], failure: [.range(key)])
            do {
                let answer = try await transacted(request, within: limit)
                if answer.succeeded == true, answer.hasPuts(1) {
                    return .applied(revision: answer.header.revision.value)
                }
                guard answer.succeeded != true, let ranges = answer.ranges(1) else { throw Self.strange }
                return .refused(try stored(store, ranges[0].kvs))
            } catch { return .unknown("\(error)") }
        }

        @concurrent package func create(
            _ record: ConfigurationRecord, of store: String, within limit: Duration
        ) async -> CreationOutcome {
            await create(record, of: store, if: .isMissing(keys.channel(record.channel)), within: limit)
        }

        @concurrent package func restore(
            _ record: ConfigurationRecord, of store: String, within limit: Duration
        ) async -> CreationOutcome {
            let isOwn = TxnRequest.Comparison.isValue(keys.channel(record.channel), Data(store.utf8))
            return await create(record, of: store, if: isOwn, within: limit)
        }

        @concurrent private func create(
            _ record: ConfigurationRecord, of store: String, if isFree: TxnRequest.Comparison, within limit: Duration
        ) async -> CreationOutcome {
            precondition(record.mismatch(cluster: cluster, store: store) == nil, "the record is of this store")
            let (key, channel, value) = (keys.record(store), keys.channel(record.channel), Data(record.bytes))
            if let problem = Self.tooLong(value) { return .unknown(problem) }
            let request = TxnRequest(
                compare: [.isMissing(key), isFree],
                success: [.put(key, value), .put(channel, Data(store.utf8))], failure: [.range(key), .range(channel)])
            do {
                let answer = try await transacted(request, within: limit)
                if answer.succeeded == true, answer.hasPuts(2) {
                    return .created(revision: answer.header.revision.value)
                }
                guard answer.succeeded != true, let ranges = answer.ranges(2) else { throw Self.strange }
                if let there = try stored(store, ranges[0].kvs) { return .exists(there) }
                let owner = ranges[1].kvs?.first.map { String(decoding: $0.value ?? Data(), as: UTF8.self) }
                return .channelTaken(by: owner ?? store)
            } catch { return .unknown("\(error)") }
        }

        @concurrent package func channels(within limit: Duration) async throws -> [Channel: String] {
            var channels: [Channel: String] = [:]
            for pair in try await list(keys.channels, within: limit) {
                guard let channel = keys.channel(of: pair.key) else {
                    throw ArbiterError(
                        .badAnswer,
                        "etcd has the key \(String(decoding: pair.key, as: UTF8.self)), which is no channel's")
                }
                channels[channel] = String(decoding: pair.value ?? Data(), as: UTF8.self)
            }
            return channels
        }

        /// Everything below a folder, linearizably.
        @concurrent func list(_ folder: Data, within limit: Duration) async throws -> [EtcdKeyValue] {
            let answer = try await gateway.read(
                "/v3/kv/range", RangeRequest(key: folder, rangeEnd: EtcdKeys.end(of: folder)), as: RangeAnswer.self,
                atMost: Self.listAnswerBytes, within: limit)
            guard answer.more != true else { throw ArbiterError(.badAnswer, "etcd answered with a part of a list") }
            return answer.kvs ?? []
        }

        @concurrent func transacted(_ request: TxnRequest, within limit: Duration) async throws -> TxnAnswer {
            try await gateway.write(
                "/v3/kv/txn", request, as: TxnAnswer.self, atMost: Self.recordAnswerBytes, within: limit)
        }

        private func stored(_ store: String, _ pairs: [EtcdKeyValue]?) throws -> StoredRecord? {
            guard let pair = pairs?.first else { return nil }
            guard let revision = pair.modRevision?.value, revision > 0 else { throw Self.strange }
            let bytes = Array(pair.value ?? Data())
            return StoredRecord(try .read(bytes, cluster: cluster, store: store), revision: revision)
        }

        /// What an answer is that has not what was asked for.
        private static var strange: ArbiterError {
            ArbiterError(.badAnswer, "etcd answered, and the answer lacks what was asked for")
        }

        private static func tooLong(_ value: Data) -> String? {
            value.count > ArbiterLimits.recordBytes
                ? "a record has at most \(ArbiterLimits.recordBytes) bytes, and this one \(value.count): shorten the "
                    + "list of the primary's endpoints" : nil
        }
    }

    // MARK: - Hints and nodes

    extension EtcdArbiter {
        @concurrent package func watch(
            for duration: Duration, within limit: Duration, _ hint: @escaping @Sendable (RecordHint) -> Void
        ) async throws {
            let stores = keys.stores
            let request = WatchRequest(createRequest: .init(key: stores, rangeEnd: EtcdKeys.end(of: stores)))
            try await gateway.stream(
                "/v3/watch", request, of: WatchPart.self, line: Self.listAnswerBytes, within: limit, for: duration
            ) { part in
                if part.canceled == true {
                    throw ArbiterError(.refused, "etcd ended a watch: \(part.cancelReason ?? "without a word")")
                }
                for event in part.events ?? [] {
                    guard let pair = event.kv, let store = EtcdKeys.name(pair.key, in: stores) else { continue }
                    let revision = pair.modRevision?.value ?? part.header.revision.value
                    hint(.changed(store: store, revision: revision))
                }
                guard part.created == true else { return .goesOn }
                hint(.began)
                return .begun
            }
        }

        @concurrent package func register(_ address: NodeAddress, within limit: Duration) async throws -> NodeLease {
            if let problem = address.problem { throw ArbiterError(.refused, problem) }
            let end = ContinuousClock.now + limit
            let granted = try await gateway.write(
                "/v3/lease/grant", GrantRequest(seconds: EtcdInteger(NodeLease.seconds)), as: GrantAnswer.self,
                atMost: Self.smallAnswerBytes, within: limit)
            let lease = NodeLease(node: address.node, id: granted.id.value)
            let put = TxnRequest.Operation.put(keys.node(address.node), Data(address.bytes), lease: lease.id)
            let answer = try await transacted(
                TxnRequest(success: [put]), within: ContinuousClock.now.duration(to: end))
            guard answer.succeeded == true, answer.hasPuts(1) else {
                throw ArbiterError(.badAnswer, "etcd answered, and does not say that it wrote the address")
            }
            return lease
        }

        @concurrent package func keepAlive(_ lease: NodeLease, within limit: Duration) async throws -> Bool {
            let end = ContinuousClock.now + limit
            // It may be asked twice, of two members: what it does is the same.
            let answer = try await gateway.read(
                "/v3/lease/keepalive", KeepAliveRequest(id: EtcdInteger(lease.id)),
                as: StreamAnswer<KeepAlivePart>.self, atMost: Self.smallAnswerBytes, within: limit)
            guard let part = answer.result else {
                throw ArbiterError(
                    .refused, "etcd does not renew a lease: \(answer.error?.message ?? "without a word")")
            }
            guard part.id.value == lease.id, (part.seconds?.value ?? 0) > 0 else { return false }
            // The lease may live and the key hang on another one, or be gone.
            let range = try await gateway.read(
                "/v3/kv/range", RangeRequest(key: keys.node(lease.node), keysOnly: true), as: RangeAnswer.self,
                atMost: Self.smallAnswerBytes, within: ContinuousClock.now.duration(to: end))
            return range.kvs?.first?.lease?.value == lease.id
        }

        @concurrent package func withdraw(_ lease: NodeLease, within limit: Duration) async throws {
            let end = ContinuousClock.now + limit
            do {
                // It may be asked twice, of two members: what it does is the same.
                _ = try await gateway.read(
                    "/v3/lease/revoke", RevokeRequest(id: EtcdInteger(lease.id)), as: RevokeAnswer.self,
                    atMost: Self.smallAnswerBytes, within: limit)
            } catch let error as ArbiterError where error.kind == .refused {
                // A lease that has ended is refused, too, and then there is nothing to do.
                let rest = ContinuousClock.now.duration(to: end)
                if try await keepAlive(lease, within: rest) { throw error }
            }
        }

        @concurrent package func nodes(within limit: Duration) async throws -> [NodeAddress] {
            try await list(keys.nodes, within: limit).compactMap { pair in
                // One of a newer version is left out, and so is one under another node's name.
                let address = try? NodeAddress(from: Array(pair.value ?? Data()).span.bytes)
                return address.flatMap { keys.node($0.node) == pair.key ? $0 : nil }
            }.sorted { $0.node < $1.node }
        }

        private static var smallAnswerBytes: Int { 16 << 10 }
    }
#endif

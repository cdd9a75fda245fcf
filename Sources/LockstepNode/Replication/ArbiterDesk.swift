package import LockstepCore
package import Logging
internal import Synchronization

/// Asks the arbiter for the machines of a node's stores, beside the node's thread; the answers come as mail.
///
/// Calls run on tasks of ``run(_:_:_:)``, which the node awaits at its end. A machine asks again what is not answered, and
/// each call ends within ``limit``. At most 64 wait to be made; one more is not made, and asked again likewise. The record
/// of a store is read once in ``spacing`` at most, however often its peers have the node ask. Who asks too early waits for
/// the next reading; of several who wait, the last gets its answer.
package final class ArbiterDesk: Sendable {
    private struct Reading: Sendable {
        let store: String
        let request: UInt64
        let mailbox: Mailbox
    }
    private enum Call: Sendable {
        case read(Reading)
        case transact(RecordAttempt, String, request: UInt64, Mailbox)
    }
    /// A store whose record was read a moment ago, and what is to be read next.
    private struct Line: Sendable { var next: Reading? }

    private let calls: AsyncStream<Call>
    private let feed: AsyncStream<Call>.Continuation
    /// What is to be listed with the node's address.
    private let troubles = Mutex<[NodeAddress.Trouble]>([])
    private let listing = Mutex(ListingWatch())
    private let lines = Mutex<[String: Line]>([:])
    /// How long one call may take.
    private static let limit = Duration.milliseconds(1_000)
    /// At least so long after a reading of a record has begun the next one of it begins.
    package static let spacing = Duration.milliseconds(20)

    package init() {
        (calls, feed) = AsyncStream.makeStream(of: Call.self, bufferingPolicy: .bufferingOldest(64))
    }

    /// Reads the record of a store; what cannot be read is no answer.
    package func readRecord(request: UInt64, for host: StoreHost) {
        readRecord(of: host.name, request: request, into: host.mailbox)
    }

    /// The same; the answer comes into `mailbox`.
    package func readRecord(of store: String, request: UInt64, into mailbox: Mailbox) {
        let reading = Reading(store: store, request: request, mailbox: mailbox)
        let isFirst = lines.withLock { lines in
            let isFirst = lines[store] == nil
            lines[store] = Line(next: isFirst ? nil : reading)
            return isFirst
        }
        guard isFirst else { return }
        if case .enqueued = feed.yield(.read(reading)) { return }
        lines.withLock { $0[store] = nil }
    }

    /// Compares and sets the record of a store.
    package func transact(_ attempt: RecordAttempt, request: UInt64, for host: StoreHost) {
        feed.yield(.transact(attempt, host.name, request: request, host.mailbox))
    }

    /// Makes the calls, and keeps the node listed, until ``finish()`` or until the task is cancelled; leaves each two
    /// seconds who is listed in the mailbox, and logs once that the node itself cannot be listed.
    @concurrent package func run(
        _ arbiter: any Arbiter, _ address: NodeAddress, _ mailbox: Mailbox, _ logger: Logger
    ) async {
        await arbiter.keepRegistered(
            address.with(self.troubles.withLock { $0 }),
            while: { await self.serve(arbiter, address, mailbox, logger) },
            { event in self.listing.withLock { $0.happened(event) } })
    }

    /// From now on these are listed with the node's address, within two seconds.
    package func list(_ troubles: [NodeAddress.Trouble]) { self.troubles.withLock { $0 = troubles } }

    /// No call is made any more.
    package func finish() { feed.finish() }

    @concurrent private func serve(
        _ arbiter: any Arbiter, _ address: NodeAddress, _ mailbox: Mailbox, _ logger: Logger
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.list(arbiter, address, into: mailbox, logger) }
            for await call in calls { group.addTask { await self.make(call, arbiter) } }
            group.cancelAll()
        }
    }

    @concurrent private func make(_ call: Call, _ arbiter: any Arbiter) async {
        switch call {
        case .read(let first):
            await withDiscardingTaskGroup { group in
                var next: Reading? = first
                while let reading = next {
                    group.addTask { await self.read(reading, arbiter) }
                    // It throws when the task is cancelled: then nobody waits any more.
                    guard (try? await Task.sleep(for: Self.spacing)) != nil else { return }
                    next = lines.withLock { lines in
                        let next = lines[reading.store]?.next
                        lines[reading.store] = next.map { _ in Line() }
                        return next
                    }
                }
            }
        case .transact(let attempt, let store, let request, let mailbox):
            switch await arbiter.transact(attempt, on: store, within: Self.limit) {
            case .applied(let revision): mailbox.put { $0.attemptApplied(attempt.attempt, revision: revision) }
            case .refused(let stored): mailbox.put { $0.attemptRefused(stored, request: request) }
            case .unknown(let text): mailbox.put { $0.writeFailed(text) }
            }
        }
    }

    @concurrent private func read(_ reading: Reading, _ arbiter: any Arbiter) async {
        let request = reading.request
        do {
            let stored = try await arbiter.record(of: reading.store, within: Self.limit)
            reading.mailbox.put { $0.recordRead(stored, request: request) }
        } catch {
            let reason = "\(error)"
            reading.mailbox.put { $0.arbiterFailed(reason) }
        }
    }

    @concurrent private func list(
        _ arbiter: any Arbiter, _ address: NodeAddress, into mailbox: Mailbox, _ logger: Logger
    ) async {
        while !Task.isCancelled {
            // Addresses are hints: what is not answered is asked for again.
            do {
                let nodes = try await arbiter.nodes(within: Self.limit)
                mailbox.put { $0.listed(nodes) }
                // Under its name there may be another process.
                note(isListed: nodes.contains { $0.node == address.node && $0.boot == address.boot }, logger)
            } catch {
                let reason = "\(error)"
                mailbox.put { $0.arbiterFailed(reason) }
            }
            // It throws when the task is cancelled, which ends the loop.
            try? await Task.sleep(for: .seconds(2))
        }
    }

    private func note(isListed: Bool, _ logger: Logger) {
        switch listing.withLock({ $0.read(isListed: isListed) }) {
        case nil: break
        case .missing(let reason)?:
            logger.warning("the arbiter does not list this node", metadata: [LogKey.reason: "\(reason)"])
        case .listedAgain?: logger.notice("the arbiter lists this node again")
        }
    }
}

extension StoreHost {
    /// The arbiter has answered a reading; nil: the store has no record, so nothing can be decided by it.
    func recordRead(_ stored: StoredRecord?, request: UInt64) {
        let now = MonotonicClock.now
        services.arbiterWatch.answered(now: now)
        guard let stored else { return recordIsMissing() }
        clear(.recordMissing)
        if tellsRecord, let standby { tellPeers(of: stored, log: standby.machine.log.summary) }
        tellsRecord = false
        standby?.recordRead(stored, request: request, now: now)
        primary?.recordFound(stored, request: request)
    }

    func attemptApplied(_ attempt: AttemptID, revision: Int64) {
        services.arbiterWatch.answered(now: MonotonicClock.now)
        services.arbiterWatch.written()
        standby?.attemptApplied(attempt, revision: revision, now: MonotonicClock.now)
        primary?.recordApplied(attempt, revision: revision)
    }

    func attemptRefused(_ stored: StoredRecord?, request: UInt64) {
        services.arbiterWatch.answered(now: MonotonicClock.now)
        services.arbiterWatch.written()
        guard let stored else { return recordIsMissing() }
        standby?.attemptRefused(stored, request: request, now: MonotonicClock.now)
        primary?.recordFound(stored, request: request)
    }

    /// Who is listed; asked every two seconds, so a node whose stores ask nothing notices an arbiter that is away.
    func listed(_ nodes: [NodeAddress]) {
        services.arbiterWatch.answered(now: MonotonicClock.now)
        services.listed(nodes)
    }

    /// What became of a write is not known: it is asked again until it is settled.
    func writeFailed(_ reason: String) {
        services.arbiterWatch.writeFailed(because: reason, now: MonotonicClock.now)
        arbiterFailed(reason)
    }

    /// Who asked asks again by itself.
    func arbiterFailed(_ reason: String) {
        services.arbiterWatch.failed(because: reason)
        logger.debug("the arbiter has no answer", metadata: [LogKey.reason: "\(reason)"])
    }
}

package import LockstepCore

// What is done with an arbiter in several calls, whichever it is.

/// What happened to a node that is kept listed.
package enum RegistrationEvent: Hashable, Sendable {
    /// The node is listed, under a new lease.
    case registered
    /// It is not listed under its lease any more: the lease has ended, or somebody else has the name.
    case lost
    /// The arbiter did not answer as it should; it is asked again.
    case failed(ArbiterError)
}

extension Arbiter {
    /// Keeps a node listed while `body` runs, and then takes it off the list, for which it has 1 s.
    ///
    /// A lease that was lost is replaced by another, and so is one under which the address was another. Asks every third
    /// of a lease, and after a failure every half second. While no other lease is granted, the old one is renewed, with
    /// the address that it has. The node stays listed until its lease ends if taking it off fails, if this task is
    /// cancelled, if `body` ends while it is being registered, or if its address says at the end that it has halted:
    /// then it is listed once more, so that an operator can see why. `address` and `event` must not wait.
    @concurrent package func keepRegistered(
        _ address: @autoclosure @escaping @Sendable () -> NodeAddress, while body: @concurrent () async -> Void,
        _ event: @escaping @Sendable (RegistrationEvent) -> Void
    ) async {
        let lease = await withTaskGroup(of: NodeLease?.self) { group in
            group.addTask { await renewing(address, event) }
            await body()
            group.cancelAll()
            return await group.next() ?? nil
        }
        let last = address()
        if last.halt != nil, !Task.isCancelled {
            // After an error the list says what it said before.
            _ = try? await register(last, within: .seconds(1))
            return
        }
        guard let lease else { return }
        // After an error the lease ends by itself.
        try? await withdraw(lease, within: .seconds(1))
    }

    /// Registers a node, and renews that until the task is cancelled; returns the lease that it then has.
    @concurrent private func renewing(
        _ address: @Sendable () -> NodeAddress, _ event: @Sendable (RegistrationEvent) -> Void
    ) async -> NodeLease? {
        let third = Duration.seconds(NodeLease.seconds) / 3
        var lease: NodeLease?
        var listed: NodeAddress?
        while !Task.isCancelled {
            var pause = third
            do {
                let now = address()
                if let held = lease, listed == now {
                    if try await !keepAlive(held, within: .seconds(1)) {
                        lease = nil
                        event(.lost)
                        pause = .zero
                    }
                } else {
                    lease = try await register(now, within: .seconds(2))
                    listed = now
                    event(.registered)
                }
            } catch let error as ArbiterError {
                event(.failed(error))
                // After an error it is tried again as soon as the registration.
                if let lease, listed != address() { _ = try? await keepAlive(lease, within: .seconds(1)) }
                pause = .milliseconds(500)
            } catch {
                // The only other error is that the task was cancelled, which ends the loop.
                break
            }
            // The same.
            try? await Task.sleep(for: pause)
        }
        return lease
    }

    /// Creates the record of a store with the lowest channel that nobody has.
    ///
    /// `make` puts the record together. A channel that somebody takes meanwhile is answered by another try, of which
    /// there are at most eight. An unknown outcome is returned with the record that was asked for: ask the arbiter to
    /// create that one again, and no other, until it is settled.
    @concurrent package func create(
        _ store: String, within limit: Duration, make: (Channel) -> ConfigurationRecord
    ) async throws -> (record: ConfigurationRecord, outcome: CreationOutcome) {
        let end = ContinuousClock.now + limit
        var tries = 8
        while true {
            let taken = try await channels(within: ContinuousClock.now.duration(to: end))
            // Channel.none is no store's.
            guard let free = (0..<Channel.none.rawValue).map(Channel.init(rawValue:)).first(where: { taken[$0] == nil })
            else { throw ArbiterError(.refused, "every channel of the cluster is taken: remove stores") }
            let record = make(free)
            let outcome = await create(record, of: store, within: ContinuousClock.now.duration(to: end))
            tries -= 1
            if case .channelTaken = outcome, tries > 0 { continue }
            return (record, outcome)
        }
    }
}

extension ConfigurationRecord {
    /// Whether the record can be kept for this store of this cluster, in words; nil if it can.
    ///
    /// Of a record that was read: it stands under the name of another store, or was copied there.
    package func mismatch(cluster: ClusterID, store name: String) -> String? {
        if self.cluster != cluster { return "the record is of the cluster \(self.cluster)" }
        if store != StoreID(cluster: cluster, name: name) { return "the record is of the store \(store)" }
        return nil
    }

    /// Reads what an arbiter keeps under the name of a store.
    package static func read(_ bytes: [UInt8], cluster: ClusterID, store: String) throws -> ConfigurationRecord {
        let record: ConfigurationRecord
        do { record = try ConfigurationRecord(from: bytes.span.bytes) } catch {
            let advice =
                error.problem == .wrongVersion
                ? "a newer version has written it, so update this node" : "an operator has to write it anew"
            throw ArbiterError(.badAnswer, "the record of the store \(store) cannot be read (\(error)): \(advice)")
        }
        if let mismatch = record.mismatch(cluster: cluster, store: store) {
            throw ArbiterError(
                .badAnswer, "under the name of the store \(store) of the cluster \(cluster), \(mismatch)")
        }
        return record
    }
}

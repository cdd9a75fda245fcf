package import LockstepCore

// Refusals that do not pass by themselves (PROTOCOL, R-1, R-9).
extension StoreHost {
    /// The node that was asked does not have this store, which nobody has welcomed since the start: whoever waits for it is
    /// told, now and at each repetition; a node that has no other store ends.
    func storeIsUnknown() {
        guard !wasWelcomed else { return }
        let error = LockstepError(
            .refused,
            "\(client.endpoint) has no store named \(name): correct the name or the address, or stop the primary, add the "
                + "store to its folder (\"lockstep init --add\") and start it again")
        port.readiness.refuse(error)
        // Without a session nothing has a number, so nothing of it is unknown.
        desk.stop(error)
        readers.refuse(error)
        feed.failAll(error)
        for id in asks.refuseReads(error) { client.cancelRead(id) }
        for id in watchDesk.refuseAll(error) { client.unwatch(id, into: &directives) }
        services.unknownStores.insert(name)
        if services.unknownStores.count == services.storeCount { services.halt(error) }
    }

    /// A node has this store; one that does not have it later may get it back.
    func storeIsKnown() {
        guard !wasWelcomed else { return }
        wasWelcomed = true
        services.unknownStores.remove(name)
        port.readiness.refuse(nil)
    }

    /// The error with which a node ends that was never welcomed, for it and the node that it was told to connect to do not
    /// belong together; nil for refusals that may pass.
    package func foreignness(_ refused: Refused) -> LockstepError? {
        switch refused.reason {
        case .wrongCluster: foreignCluster(refused.text)
        case .wrongVersion:
            LockstepError(
                .refused,
                "\(client.endpoint) and this node speak different versions of the protocol (\(refused.text)): run the "
                    + "same version of the program on both")
        case .unknownStore, .primaryBehind, .notPrimary, .unavailable, .sessionLimit, .protocolViolation, .denied: nil
        }
    }

    private func foreignCluster(_ text: String) -> LockstepError {
        let own = services.cluster ?? .none
        let theirs = Self.cluster(named: text, beginning: client.foreignCluster)
        let peer = "\(client.endpoint) belongs to cluster \(theirs)"
        guard let replica, let place = replica.journalPlace else {
            return LockstepError(
                .invalidConfiguration,
                "\(peer), this node is configured for cluster \(own): connect it to a node of its own cluster, or "
                    + "configure the other's")
        }
        return LockstepError(
            .journalForeign,
            "\(peer), the journal of store \(name) here (\(place)) to cluster \(own): name the primary of the journal's "
                + "cluster (--replica-of), or make this node anew, in an empty folder, for the other cluster "
                + "(lockstep init --cluster)")
    }

    /// The other cluster's ID: as a whole where the refusal's text names it, else its first half, which every frame has.
    private static func cluster(named text: String, beginning half: UInt64?) -> String {
        for word in text.split(whereSeparator: { !$0.isHexDigit }) {
            guard let cluster = ClusterID(hexadecimal: String(word)), half == nil || cluster.hash == half else {
                continue
            }
            return "\(cluster)"
        }
        return half.map { "\(ClusterID(rawValue: UInt128($0) << 64))".prefix(16) + "…" } ?? "(another)"
    }
}

extension ReplicaDriver {
    /// Where the journal is and where it ends, for an operator; nil without one.
    package var journalPlace: String? {
        guard journal != nil, case .replica(_, _, let source?) = host.services.configuration.given.role else {
            return nil
        }
        let position = machine.log.position
        guard position.sequence > .zero else { return "\(source), empty" }
        return "\(source), which ends at \(position.epoch):\(position.sequence)"
    }
}

package import LockstepCore

// Refusals that do not pass by themselves (PROTOCOL, R-1, R-9).
extension StoreHost {
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

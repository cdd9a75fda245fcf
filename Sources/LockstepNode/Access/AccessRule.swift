package import LockstepCore

/// A port that peers connect to; the raw value is its ZAP domain.
package enum AccessLink: String, CaseIterable, Hashable, Sendable {
    /// L1.
    case ingress = "lockstep.ingress"
    /// L3.
    case bulk = "lockstep.bulk"
    /// L4.
    case broadcast = "lockstep.broadcast"
    /// L2.
    case replication = "lockstep.replication"
}

/// Who may say what on which link: the whole table (PROTOCOL, R-68).
///
/// What is not in it is allowed to nobody. ``AccessRole/node`` has what ``AccessRole/replica``, ``AccessRole/writer``
/// and ``AccessRole/reader`` have.
package enum AccessRule {
    /// The roles of which one is enough to connect to a link.
    package static func rolesToConnect(to link: AccessLink) -> Set<AccessRole> {
        switch link {
        // Anybody in the list may ask for the status.
        case .ingress, .bulk: Set(AccessRole.allCases)
        case .broadcast: [.replica]
        case .replication: [.node]
        }
    }

    /// The roles of which one is enough to send a kind of message on a link; none: nobody may.
    package static func roles(for kind: MessageKind, on link: AccessLink) -> Set<AccessRole> {
        switch link {
        case .ingress: rolesAtIngress(kind)
        case .bulk: rolesAtBulk(kind)
        case .broadcast: []
        case .replication: rolesAtReplication(kind)
        }
    }

    /// The roles of which one is enough to say HELLO in a role.
    package static func roles(forHelloAs role: PeerRole) -> Set<AccessRole> {
        switch role {
        case .client: [.replica, .writer, .reader]
        case .replica: [.replica]
        }
    }

    private static func rolesAtIngress(_ kind: MessageKind) -> Set<AccessRole> {
        switch kind {
        case .hello, .read, .watch, .unwatch: [.replica, .writer, .reader]
        // A replica has a session of its own, by which its primary knows when it has left.
        case .open, .resume, .keepAlive, .close: [.replica, .writer]
        // QUERY is answered with replies of any session, so it is not for who only reads the state.
        case .submit, .runRequest, .query: [.writer]
        case .adminRequest: Set(AccessRole.allCases)
        case .welcome, .refused, .opened, .resumed, .sessionMoved, .result, .busy, .outOfOrder, .sessionExpired,
            .sessionUnknown, .closed, .readResult, .queryResult, .resync, .runEnded, .runGone, .watchResult, .sync,
            .syncPlan, .chunkRequest, .chunk, .repairRequest, .repair, .batch, .beacon, .adminResponse, .fetch,
            .fetchPlan, .append, .acknowledge, .heartbeat, .confirmRequest, .confirm, .recordRequest, .record,
            .stepDown, .takeOver:
            []
        }
    }

    private static func rolesAtBulk(_ kind: MessageKind) -> Set<AccessRole> {
        switch kind {
        case .sync, .chunkRequest, .repairRequest: [.replica]
        case .adminRequest: Set(AccessRole.allCases)
        case .hello, .welcome, .refused, .open, .opened, .resume, .resumed, .sessionMoved, .submit, .result, .busy,
            .outOfOrder, .sessionExpired, .sessionUnknown, .keepAlive, .close, .closed, .read, .readResult, .query,
            .queryResult, .resync, .runRequest, .runEnded, .runGone, .watch, .watchResult, .unwatch, .syncPlan, .chunk,
            .repair, .batch, .beacon, .adminResponse, .fetch, .fetchPlan, .append, .acknowledge, .heartbeat,
            .confirmRequest, .confirm, .recordRequest, .record, .stepDown, .takeOver:
            []
        }
    }

    private static func rolesAtReplication(_ kind: MessageKind) -> Set<AccessRole> {
        switch kind {
        case .fetch, .acknowledge, .confirm, .recordRequest, .stepDown: [.node]
        case .hello, .welcome, .refused, .open, .opened, .resume, .resumed, .sessionMoved, .submit, .result, .busy,
            .outOfOrder, .sessionExpired, .sessionUnknown, .keepAlive, .close, .closed, .read, .readResult, .query,
            .queryResult, .resync, .runRequest, .runEnded, .runGone, .watch, .watchResult, .unwatch, .sync, .syncPlan,
            .chunkRequest, .chunk, .repairRequest, .repair, .batch, .beacon, .adminRequest, .adminResponse, .fetchPlan,
            .append, .heartbeat, .confirmRequest, .record, .takeOver:
            []
        }
    }
}

extension Principal {
    /// Whether it has one of some roles.
    package func hasAny(of wanted: Set<AccessRole>) -> Bool { wanted.contains { has($0) } }
}

/// How an effect's run shares the primary with others of a group (PROTOCOL, R-63).
package enum RunPolicy: Hashable, Sendable {
    /// So many at a time; the rest wait in the order of acceptance.
    case merge(max: Int)
    /// One at a time; at most `waiting` wait, and a further action is rejected.
    case serial(waiting: Int)
    /// A newer one supersedes those before it.
    case latest
    /// While one is under way, a further action is rejected.
    case first
}

/// One of the limits that a run keeps to: a policy, and the group of runs that it is about.
package struct RunLimit: Hashable, Sendable {
    package var policy: RunPolicy
    /// The runs that the policy is about, by its name; not empty.
    package var group: String

    package init(_ policy: RunPolicy, group: String) {
        self.policy = policy
        self.group = group
    }

    /// How many of the group run at a time; nil: as many as there are.
    package var bound: Int? {
        switch policy {
        case .merge(let max): max == .max ? nil : Swift.max(1, max)
        case .serial: 1
        case .latest, .first: nil
        }
    }
}

/// What the primary has to know of an effect before it accepts its action.
package struct RunPlan: Hashable, Sendable {
    /// All hold; no group stands here twice.
    package private(set) var limits: [RunLimit]
    /// Names under which it can be cancelled.
    package var names: [String]

    package init(limits: [RunLimit] = [], names: [String] = []) {
        self.limits = []
        self.names = names
        for limit in limits { keep(limit) }
    }

    /// A plan with one limit.
    package init(policy: RunPolicy, group: String, names: [String] = []) {
        self.init(limits: [RunLimit(policy, group: group)], names: names)
    }

    /// Adds a limit, in place of the one of the same group if there is one.
    package mutating func keep(_ limit: RunLimit) {
        if let index = limits.firstIndex(where: { $0.group == limit.group }) {
            limits[index] = limit
        } else {
            limits.append(limit)
        }
    }

    /// The limits for which a run may have to wait.
    var bounds: [(group: String, most: Int)] {
        limits.compactMap { limit in limit.bound.map { (limit.group, $0) } }
    }
}

/// What the last action that was performed asks for besides its item; see ``ReplicatedState/takeRequest()``.
package struct RunRequest: Hashable, Sendable {
    /// The action after the performed ones does not end at once: it is to be accepted with this plan.
    package var plan: RunPlan?
    /// Where its bytes are.
    package var action: Range<Int>
    /// Runs to be cancelled by the last performed action, or by the one to be accepted.
    package var cancelledNames: [String]
    package var cancelledRuns: [RunID]

    package init(
        plan: RunPlan? = nil, action: Range<Int> = 0..<0, cancelledNames: [String] = [], cancelledRuns: [RunID] = []
    ) {
        self.plan = plan
        self.action = action
        self.cancelledNames = cancelledNames
        self.cancelledRuns = cancelledRuns
    }
}

/// A run as its executor gets to know it.
package struct RunStart: Hashable, Sendable {
    package var id: RunID
    /// 1 for the first; higher after a restart of the primary.
    package var attempt: UInt64
    /// How many emissions of earlier attempts are in the log.
    package var emissions: UInt64

    package init(id: RunID, attempt: UInt64, emissions: UInt64) {
        self.id = id
        self.attempt = attempt
        self.emissions = emissions
    }
}

/// What running an accepted action again came to; see ``ReplicatedState/resume(_:action:context:into:)``.
package enum RunResumption: Hashable, Sendable {
    /// It has an effect again, which waits for its turn under this plan.
    case planned(RunPlan)
    /// This time it ended at once: an item was written.
    case ended
}

/// What became of an emission or an end that an executor brought.
package enum EmissionOutcome: Hashable, Sendable {
    case committed(Epoch, SequenceNumber)
    /// Its run was cancelled, was superseded, or has ended: it is certainly not in the log.
    case dropped
    /// The primary has no room now: it is not in the log, and may be brought again.
    case busy
}

import LockstepCore

/// A schedule that somebody wrote: what random ones hardly ever meet.
package enum ClusterScript: String, CaseIterable, Hashable, Sendable {
    case calm

    /// What happened, as a script is told.
    enum Moment {
        case began
        case healed
        case due(Int)
        case served(ArbiterModel.Order, ArbiterModel.Answer)
        case won(ClusterNode, Epoch)
        case deposed(ClusterNode)
        case request(ReplicationRequest, ClusterLink)
    }

    /// What a script remembers.
    struct State {
        var stage = 0
    }
}

extension ClusterSimulation {
    func script(_ moment: ClusterScript.Moment) {}
}

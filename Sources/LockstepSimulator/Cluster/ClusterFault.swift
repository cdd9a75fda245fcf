/// What may happen to a simulated cluster of data nodes; a seed turns each on or off, and says how strong it is.
package enum ClusterFault: String, CaseIterable, Codable, Hashable, Sendable {
    case kill, hostDeath, pause, orderlyStop, stuckDisk, slowDisk, lostDisk
    case cutConnection, partition, oneWay, slowFrames, smallWindow
    case arbiterLoss, arbiterDelay, arbiterDouble, arbiterAway, arbiterCut, arbiterSetBack
    case clockRate, wallClock
    case handover, promotion

    /// What it does, for a person.
    package var meaning: String {
        switch self {
        case .kill: "a process ends at once; the host says so, what waited for the disk is lost"
        case .hostDeath: "a host ends at once and says nothing"
        case .pause: "a process does nothing for up to 4 s; clock, frames and disk go on"
        case .orderlyStop: "a primary stops in order, and gives its post away"
        case .stuckDisk: "a disk does nothing for up to 5 s"
        case .slowDisk: "writes take up to 300 ms"
        case .lostDisk: "a node comes back under its name with an empty disk, as another incarnation"
        case .cutConnection: "a connection breaks; what was under way is lost, or comes later"
        case .partition: "some nodes do not reach the others"
        case .oneWay: "frames from one node to another do not come"
        case .slowFrames: "frames take up to 300 ms"
        case .smallWindow: "primaries remember few batches, so that standbys need snapshots"
        case .arbiterLoss: "orders to the arbiter, or its answers, are lost"
        case .arbiterDelay: "they take up to 5 s"
        case .arbiterDouble: "they come twice"
        case .arbiterAway: "the arbiter answers nobody for up to 5 s"
        case .arbiterCut: "one node does not reach the arbiter for up to 8 s"
        case .arbiterSetBack: "the arbiter shows an older copy of the record, until an operator binds the store to it"
        case .clockRate: "clocks go up to 10 % faster or slower"
        case .wallClock: "wall clocks jump by up to 50 minutes"
        case .handover: "an operator has a primary give its post away"
        case .promotion: "a set is gone, and an operator promotes who is left, whatever it lacks"
        }
    }

    /// In which share of the seeds it is on.
    var likelihood: Double {
        switch self {
        case .arbiterSetBack, .promotion: 0.11
        case .hostDeath, .slowDisk, .slowFrames, .smallWindow, .handover: 0.3
        case .kill, .pause, .orderlyStop, .stuckDisk, .lostDisk, .cutConnection, .partition, .oneWay, .arbiterLoss,
            .arbiterDelay, .arbiterDouble, .arbiterAway, .arbiterCut, .clockRate, .wallClock:
            0.5
        }
    }

    /// How often it strikes in a second, at full strength; nil: it has no moment of its own.
    var rate: Double? {
        switch self {
        case .kill, .cutConnection: 0.6
        case .pause, .orderlyStop, .stuckDisk, .partition, .oneWay: 0.25
        case .hostDeath, .lostDisk, .arbiterAway, .arbiterCut: 0.15
        case .arbiterSetBack: 0.05
        case .promotion: 0.1
        case .wallClock, .handover: 0.2
        case .slowDisk, .slowFrames, .smallWindow, .arbiterLoss, .arbiterDelay, .arbiterDouble, .clockRate: nil
        }
    }

    /// How long after it has struck something of it may still come, in nanoseconds; what lasts itself does not count.
    var aftermath: Int64 {
        switch self {
        case .arbiterDelay: 5 * Span.second
        // The second order may come 3 s later, and its answer, too.
        case .arbiterDouble: 6 * Span.second
        // The other end learns of it so late.
        case .hostDeath: 6 * Span.second
        case .cutConnection: 4 * Span.second
        case .slowDisk, .slowFrames: 300 * Span.millisecond
        case .kill, .pause, .orderlyStop, .stuckDisk, .lostDisk, .partition, .oneWay, .smallWindow, .arbiterLoss,
            .arbiterAway, .arbiterCut, .arbiterSetBack, .clockRate, .wallClock, .handover, .promotion:
            0
        }
    }
}

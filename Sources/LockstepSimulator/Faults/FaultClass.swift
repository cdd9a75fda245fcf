/// What can go wrong in a simulated cluster; a seed draws which of these are on and how strong.
package enum FaultClass: String, CaseIterable, Sendable, Hashable {
    // The network
    case loss
    case duplication
    case delay
    case reorder
    case corruption
    case cut
    case oneWayCut
    case publisherDrops
    case reconnect
    // Processes
    case primaryCrash
    case replicaCrash
    case crashWhileStarting
    case pause
    // Journals
    case journalLatency
    case lostWrites
    case tornWrite
    case commitError
    case diskFull
    case bitFlip
    case oldCopy
    case wipedReplica
    // Clocks
    case clockRate
    case clockJump
    // Clients
    case lateRetry
    case rogueClient
    case giveUp
    case clientCrash
    case sessionChurn
    // Programs
    case divergentReducer
    case buggify
    // The operator
    case oldReplicaCopy
    case mixedFolders
    case wrongLoss
    case switchOver
    // A stop that is asked for
    case orderlyStop

    /// What an operator does, or does wrongly; drawn after all others, so that they are what they were without it.
    package static let ofOperator: [FaultClass] = [.oldReplicaCopy, .mixedFolders, .wrongLoss, .switchOver]

    /// Whether it is drawn after what was there before it, so that this is what it was without it.
    var isDrawnLater: Bool { self == .orderlyStop || Self.ofOperator.contains(self) }

    /// How often a seed has it on, unless it is pinned.
    var likelihood: Double {
        switch self {
        case .oldCopy, .bitFlip, .divergentReducer: 0.08
        case .commitError, .diskFull, .wipedReplica, .oldReplicaCopy, .mixedFolders, .wrongLoss, .switchOver: 0.3
        case .tornWrite, .lostWrites, .crashWhileStarting, .orderlyStop: 0.5
        case .buggify: 0.7
        case .loss, .duplication, .delay, .reorder, .corruption, .cut, .oneWayCut, .publisherDrops, .reconnect,
            .primaryCrash, .replicaCrash, .pause, .journalLatency, .clockRate, .clockJump, .lateRetry, .rogueClient,
            .giveUp, .clientCrash, .sessionChurn:
            0.6
        }
    }

    /// What its strength, which is above 0 and at most 1, means.
    package var meaning: String {
        switch self {
        case .loss: "up to 30 % of all frames are lost"
        case .duplication: "up to 50 % of all frames come twice"
        case .delay: "frames take up to 200 ms"
        case .reorder: "up to 30 % of all frames may overtake others"
        case .corruption: "up to 5 % of all frames have a flipped bit"
        case .cut: "two processes, or all, cannot reach each other for up to 10 s"
        case .oneWayCut: "frames of one direction are held for up to 10 s"
        case .publisherDrops: "the broadcast loses runs of up to 64 frames"
        case .reconnect: "connections break; some of what was under way comes, some is lost, some is sent again"
        case .primaryCrash: "the primary is killed and started again"
        case .replicaCrash: "replicas are killed and started again"
        case .crashWhileStarting: "a node is killed again while it recovers or opens its epoch"
        case .pause: "a process stands still for up to 10 s"
        case .journalLatency: "a write takes up to 1 s"
        case .lostWrites: "a crash forgets the write that was under way"
        case .tornWrite: "a crash leaves a part of the write that was under way"
        case .commitError: "a write fails; whether it is durable nobody knows"
        case .diskFull: "writes find no room for up to 10 s"
        case .bitFlip: "a bit of a journal changes while its node is down"
        case .oldCopy: "an older copy of the primary's journal is put back"
        case .wipedReplica: "a replica loses its journal and joins from nothing"
        case .clockRate: "clocks run at half to twice their rate"
        case .clockJump: "wall clocks jump by up to 50 minutes"
        case .lateRetry: "old frames of clients come again much later"
        case .rogueClient: "a client sends wrong numbers, other bodies under used numbers, and noise"
        case .giveUp: "callers give up their actions"
        case .clientCrash: "clients are killed; the next life has a new session"
        case .sessionChurn: "many sessions come and go"
        case .divergentReducer: "a replica reduces one entry wrongly"
        case .buggify: "machines take unusual ways that the protocol allows"
        case .oldReplicaCopy: "an older copy of a replica's journal is put back"
        case .mixedFolders: "the primary's folder is served as a replica's, and the other way round, and refused"
        case .wrongLoss: "an operator gives up a position that no alarm named, and is refused"
        case .switchOver: "a replica's folder is promoted, and the primary's demoted"
        case .orderlyStop: "the primary is told to stop, as by SIGTERM, goes down in good order and is started again"
        }
    }
}

/// Which faults a run has, and how strong each is.
package struct FaultPlan: Sendable, Hashable {
    /// Above 0 and at most 1; a class that is not here is off.
    package private(set) var strengths: [FaultClass: Double] = [:]

    /// No faults.
    package init() {}

    package subscript(fault: FaultClass) -> Double {
        get { strengths[fault] ?? 0 }
        set { strengths[fault] = newValue > 0 ? min(newValue, 1) : nil }
    }

    package func isOn(_ fault: FaultClass) -> Bool { strengths[fault] != nil }

    /// The classes that are on, in the order of their declaration.
    package var active: [FaultClass] { FaultClass.allCases.filter(isOn) }

    /// `name=strength` for each that is on, as the command line takes them.
    package var description: String {
        active.map { "\($0.rawValue)=\(Double(Int(self[$0] * 1_000)) / 1_000)" }.joined(separator: " ")
    }
}

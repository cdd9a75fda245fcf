package import LockstepCore

extension NodeStatus {
    /// What a node, or a peer of a primary, is.
    ///
    /// A node of another version may have a role that this version has no name for; it is kept as it is.
    public struct Role: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
        /// The role's name in `status --json`.
        public let rawValue: String

        /// The role of this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The role's name.
        public var description: String { rawValue }

        /// It decides actions and writes the log.
        public static let primary = Role(rawValue: "primary")
        /// It follows a primary and holds the state.
        public static let replica = Role(rawValue: "replica")
        /// It sends actions and queries without holding the state.
        public static let client = Role(rawValue: "client")
        /// It may become the primary of its stores: ``StoreStatus/dataNode`` says what it is for each.
        public static let data = Role(rawValue: "data")
        /// Of a data node for a store: it follows the primary, and may take its place.
        public static let standby = Role(rawValue: "standby")
    }
}

extension StoreStatus {
    /// How far a store is.
    ///
    /// A node of another version may have a phase that this version has no name for; it is kept as it is.
    public struct Phase: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
        /// The phase's name in `status --json`.
        public let rawValue: String

        /// The phase of this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The phase's name.
        public var description: String { rawValue }

        /// Of a primary: its first entry is on its way to the journal.
        public static let opening = Phase(rawValue: "opening")
        /// Of a primary: it waits for a word of the replicas that it last had (PROTOCOL, R-48).
        public static let awaiting = Phase(rawValue: "awaiting")
        /// Of a primary: it takes actions.
        public static let admitting = Phase(rawValue: "admitting")
        /// Of a primary: a peer knows of a history that this log does not have, so it takes no actions.
        public static let behind = Phase(rawValue: "behind")
        /// Of a primary: it takes nothing more, and writes what it has.
        public static let stopping = Phase(rawValue: "stopping")
        /// Of a primary or a replica: a fault stopped it.
        public static let halted = Phase(rawValue: "halted")
        /// Of a replica or client: it has no primary.
        public static let connecting = Phase(rawValue: "connecting")
        /// Of a client: it has a primary.
        public static let connected = Phase(rawValue: "connected")
        /// Of a replica: it fetches what it lacks.
        public static let joining = Phase(rawValue: "joining")
        /// Of a replica: it follows the stream and has not reached its end yet.
        public static let catchingUp = Phase(rawValue: "catching-up")
        /// Of a replica: it has been at the end of the stream and follows it.
        public static let live = Phase(rawValue: "live")
        /// Of a replica: its digest differed, and it serves nothing until it has a new snapshot.
        public static let quarantined = Phase(rawValue: "quarantined")
        /// Of a replica: it has a history that its primary does not have.
        public static let ahead = Phase(rawValue: "ahead")

        package init(_ phase: PrimaryStateMachine.Phase) {
            switch phase {
            // A machine is started before anybody can ask for its status.
            case .created, .opening: self = .opening
            case .awaiting: self = .awaiting
            case .admitting: self = .admitting
            case .behind: self = .behind
            case .stopping: self = .stopping
            // The store is being opened anew as a standby.
            case .deposed: self = .opening
            case .halted: self = .halted
            }
        }

        package init(_ phase: ReplicaPhase) {
            switch phase {
            case .connecting: self = .connecting
            case .joining: self = .joining
            case .catchingUp: self = .catchingUp
            case .live: self = .live
            case .quarantined: self = .quarantined
            case .ahead: self = .ahead
            case .halted: self = .halted
            }
        }
    }

    /// What an operator must know of a store until it has passed; `NAME: text` in `status --json`.
    public struct Alarm: Codable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the alarm, under which deploy/README.md says what to do.
        public var name: String
        /// What is wrong, and what to do.
        public var text: String

        package init(_ kind: AlarmKind, _ text: String) {
            name = kind.rawValue
            self.text = text
        }

        /// Which alarm it is; `nil` for one that only another version has.
        public var kind: AlarmKind? { AlarmKind(rawValue: name) }

        /// `NAME: text`.
        public var description: String { "\(name): \(text)" }

        /// Reads `NAME: text`.
        public init(from decoder: any Decoder) throws {
            let whole = try decoder.singleValueContainer().decode(String.self)
            let parts = whole.split(separator: ": ", maxSplits: 1)
            name = parts.first.map(String.init) ?? ""
            text = parts.count == 2 ? String(parts[1]) : ""
        }

        /// Writes `NAME: text`.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }
    }
}

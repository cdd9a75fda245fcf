package import LockstepCore

/// Who is the primary of a data node's store, and what else the node knows of that; for operators.
package struct StorePost: Codable, Hashable, Sendable {
    /// What the arbiter has shown a node.
    package struct Shown: Codable, Hashable, Sendable {
        package var revision: Int64
        package var number: UInt64
        package var epoch: UInt64
        /// Of whose process the epoch is, in hexadecimal digits; all 0: not known.
        package var boot: String

        init(_ memory: ArbiterMemory) {
            (revision, number, epoch) = (memory.revision, memory.number, memory.epoch.rawValue)
            boot = "\(memory.boot)"
        }

        package var memory: ArbiterMemory {
            ArbiterMemory(
                revision: revision, number: number, epoch: Epoch(rawValue: epoch),
                boot: BootID(hexadecimal: boot) ?? .none)
        }
    }

    /// What another data node has said.
    package struct Report: Codable, Hashable, Sendable {
        package var node: String
        /// The highest epoch that it knows of.
        package var epoch: UInt64
        /// Of the record that it knows; 0: none.
        package var number: UInt64
        package var shown: Shown
        /// The end of its log.
        package var end: String
        /// Its log lacks what this node, or another one that has answered, knows to be committed.
        package var lacksCommitted: Bool
        /// It knows to be committed what this node's log lacks.
        package var knowsMore: Bool
        /// It is the primary too, or instead, and may acknowledge more at any time.
        package var leads: Bool
        /// Of the record that it knows; nil: it knows none.
        package var minimum: Int?
        /// The members in that record.
        package var members: [String]
    }

    /// How far the last handover is that an operator asked for.
    package struct Handover: Codable, Hashable, Sendable {
        package var isUnderWay: Bool
        /// From the order to the record of another primary, or to the end of the attempt.
        package var milliseconds: Int64
        /// Why the post stayed where it is.
        package var problem: String?
    }

    package var store: String
    package var node: String
    /// Of the journal, in hexadecimal digits.
    package var incarnation: String
    /// Where the node listens.
    package var endpoint: String
    package var isPrimary: Bool
    /// It waits for a snapshot, or its state is in doubt, and campaigns with no log before that has passed.
    package var cannotLead: Bool
    /// Its disk has all of its log, so that a crash takes nothing of it.
    ///
    /// True of a primary, which commits only what its disk has.
    package var isWritten: Bool
    /// The highest epoch that the node knows of, by the record, its log, its promise, or another node.
    package var epoch: UInt64
    /// The highest number of a record that it knows of.
    package var number: UInt64
    /// What the arbiter has shown this node itself.
    package var shown: Shown
    /// The end of its log, with what is not committed.
    package var end: String
    /// Of the journal.
    package var channel: UInt16
    /// Of the record that the node knows; nil: it knows none.
    package var minimum: Int?
    /// The members in that record.
    package var members: [String]
    /// Whom the record names that the node knows; nil: it knows none.
    package var primary: String?
    package var reports: [Report]
    package var handover: Handover?

    /// ``end`` as a position; nil if the text is none.
    package var position: Position? { Self.position(end) }

    static func text(_ position: Position) -> String { KnownPosition(position: position, boot: .none).noteText }
    private static func position(_ text: String) -> Position? { KnownPosition(noteText: text)?.position }

    /// The nodes whose log goes further than this one's, as far as they have answered.
    ///
    /// Of two logs the one with the later epoch has all that was committed in an earlier one, and in one epoch the longer
    /// one has all of the shorter; but not where an arbiter that was set back gave a post to who lacked it. Such a log goes
    /// nowhere.
    package var further: [String] {
        guard let own = position else { return [] }
        let others = reports.filter { report in
            if report.lacksCommitted { return false }
            guard let other = Self.position(report.end) else { return true }
            return (other.epoch, other.sequence) > (own.epoch, own.sequence)
        }
        return others.map(\.node)
    }

    /// Whether another node's log ends where this one's does, in epoch and sequence number.
    package func endsLike(_ report: Report) -> Bool {
        guard let own = position, let other = Self.position(report.end) else { return false }
        return (other.epoch, other.sequence) == (own.epoch, own.sequence)
    }

    /// The nodes whose log ends in another reign of the same epoch, which an arbiter that was set back gave away twice.
    ///
    /// Which of the two has what was acknowledged is not in the logs.
    package var rivals: [Report] {
        guard let own = position, own.epoch.rawValue == shown.epoch, shown.memory.boot != .none else { return [] }
        return reports.filter { report in
            report.shown.epoch == shown.epoch && report.shown.boot != shown.boot && report.shown.memory.boot != .none
                && Self.position(report.end)?.epoch == own.epoch
        }
    }

    /// Whether the arbiter has shown another node the same reign last.
    package func knowsSameReign(_ report: Report) -> Bool {
        report.shown.epoch == shown.epoch && report.shown.boot == shown.boot
    }

    /// Whether a reign of the own epoch, named by its boot, can have acknowledged anything.
    ///
    /// Who has a reign's batches knows of the reign. So it cannot if fewer nodes know of it than the minimum, where
    /// each of the `absent` members, which have not answered, may be one that does.
    package func mayHaveAcknowledged(_ boot: String, absent: Int) -> Bool {
        // Each reign had the minimum of its record, and a lower one needs fewer.
        guard let minimum = ([minimum] + reports.map(\.minimum)).compactMap(\.self).min() else { return true }
        let knowing = ([shown] + reports.map(\.shown)).count { $0.epoch == shown.epoch && $0.boot == boot }
        return knowing + absent >= minimum
    }
}

/// What a node does before it tells of a post.
package enum PostLook: String, Codable, Hashable, Sendable {
    /// Asks the other nodes; a standby reads the record with that, and a primary does not: its post stays.
    case nodes
    /// Has the record read, by the primary too, which goes by it.
    case record
}

/// A handover that an operator asked for.
struct HandoverNote {
    var began: Tick
    /// Nil: it is under way.
    var ended: Tick?
    var problem: String?
}

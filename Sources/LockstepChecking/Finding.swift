/// A defect that a checker found in a history.
package struct Finding: Equatable, Sendable, CustomStringConvertible {
    /// What is wrong.
    package var kind: Kind
    /// The operations concerned, by their index in the checked history, the one that reveals the defect first.
    package var operations: [Int]
    /// The numbers that disagree, for a reader.
    package var detail: String

    /// The kinds of defects.
    package enum Kind: String, Sendable, CaseIterable {
        /// Two writes have one sequence number.
        case duplicatePlace
        /// A later sequence number belongs to an earlier epoch, or an earlier one to a later epoch.
        case epochFell
        /// A write stands before another, or at or before a read, that had returned when it was invoked.
        case reordered
        /// A read misses a write that had returned, or what an earlier read had seen.
        case staleRead
        /// A session's numbers do not stand in the log in their order.
        case sessionReordered
        /// A session's number took effect twice.
        case sessionRepeated
        /// A session's number is missing in the history, between two that are there.
        case sessionGap
        /// An output is not what the order of the log gives.
        case wrongOutput
        /// A value is outside what the additions around it allow.
        case outOfRange
        /// A list that was read is not a beginning of the longest.
        case notAPrefix
        /// An acknowledged element is missing.
        case lost
        /// An element is there more than once.
        case duplicated
        /// An element is there that nobody added.
        case unexpected
    }

    /// Makes a finding.
    package init(_ kind: Kind, _ operations: [Int], _ detail: String) {
        self.kind = kind
        self.operations = operations
        self.detail = detail
    }

    /// The kind, the operations and the detail, in one line.
    package var description: String { "\(kind.rawValue) \(operations): \(detail)" }
}

/// What a checker returns that may have to leave something open.
package struct CheckResult: Sendable {
    /// The defects, at most as many as the checker's limit.
    package var findings: [Finding] = []
    /// What could not be decided within the bound, for a reader; empty in a full check.
    package var undecided: [String] = []
    /// How many outputs were compared with something; a check that passed and has 0 here says nothing.
    package var checked = 0

    /// Makes a result without findings.
    package init() {}

    /// Whether everything was decided and nothing was found.
    package var passed: Bool { findings.isEmpty && undecided.isEmpty }
}

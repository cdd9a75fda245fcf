/// What is fuzzed: a name for each kind of bytes that comes from outside the process.
///
/// A target takes any bytes, never traps, and reads nothing outside them; what it decodes it encodes again and compares.
/// An input of most targets begins with a byte that says what to do with the rest, such as to make a checksum right, so
/// that a fuzzer gets past it.
package enum FuzzTarget: String, CaseIterable, Sendable {
    /// Whole frames, with their checksums made right or not (PROTOCOL, sections 3 and 4).
    case frames
    /// Entries, items and batches, and batches applied to a log (PROTOCOL, sections 5 and 6).
    case entries
    /// Rows of the journal's tables, and the slots of its side mark.
    case journal
    /// All tables of a journal in memory, with any rows, and the checks of a whole journal.
    case tables
    /// Snapshots, and logs that go on from one (PROTOCOL, section 7).
    case snapshots
    /// What a replica waits for: beacons, batches, plans, chunks, repairs.
    case replica
    /// Actions, mutations, replies, queries, answers and states in the wire form, and what they do to a reactor's state.
    case payloads
    /// The same types in JSON, administration requests, and the program's own answers and files.
    case json
    /// Endpoints, names, identifiers, positions, notes, folders: all that an operator writes.
    case configuration
    /// The text form of CURVE keys.
    case keys

    /// The longest input that is of use: more bytes only repeat what fewer do.
    package var longestInput: Int {
        switch self {
        case .frames: 4_096
        case .entries, .snapshots, .journal, .tables: 1_024
        case .replica, .json: 768
        case .payloads, .configuration: 256
        case .keys: 64
        }
    }

    /// Runs the target once.
    ///
    /// - Parameters:
    ///   - input: Any bytes.
    ///   - defect: What is made wrong on purpose, to see that it is found.
    /// - Throws: What was found wrong, unless that traps.
    package func run(_ input: [UInt8], defect: FuzzDefect? = nil) throws(FuzzFinding) {
        var bytes = FuzzInput(input)
        let checks = Checks(defect: defect)
        switch self {
        case .frames: try FrameTarget.run(&bytes, checks)
        case .entries: try EntryTarget.run(&bytes, checks)
        case .journal: try JournalTarget.run(&bytes, checks)
        case .tables: try JournalTarget.runTables(&bytes, checks)
        case .snapshots: try SnapshotTarget.run(&bytes, checks)
        case .replica: try ReplicaTarget.run(&bytes, checks)
        case .payloads: try PayloadTarget.run(&bytes, checks)
        case .json: try JSONTarget.run(&bytes, checks)
        case .configuration: try ConfigurationTarget.run(&bytes, checks)
        case .keys: try KeyTarget.run(&bytes, checks)
        }
    }
}

/// A property that did not hold.
package struct FuzzFinding: Error, Hashable, CustomStringConvertible {
    package var description: String
}

/// A defect that is there only when it is asked for: it shows that a target can fail.
package enum FuzzDefect: String, CaseIterable, Sendable {
    /// Comparisons of what was decoded and encoded again call equal values different.
    case comparison
    /// The byte after the input is read, which only the sanitizer notices.
    case overread
}

/// The comparisons of a target.
struct Checks {
    var defect: FuzzDefect?

    /// Throws unless `condition` holds.
    func holds(_ condition: Bool, _ text: @autoclosure () -> String) throws(FuzzFinding) {
        guard condition else { throw FuzzFinding(description: text()) }
    }

    /// Throws unless what came back is what went in.
    func same<Value: Equatable>(
        _ left: Value, _ right: Value, _ text: @autoclosure () -> String
    ) throws(FuzzFinding) {
        guard (left == right) != (defect == .comparison) else {
            throw FuzzFinding(description: "\(text()): \(left) is not \(right)")
        }
    }
}

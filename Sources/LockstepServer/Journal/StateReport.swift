import LockstepCore
import LockstepFolders
package import LockstepSQLite

/// A state that was rebuilt from a journal, as `journal state-at` prints it.
package struct StateReport: Encodable {
    private let position: String
    private let sequence: UInt64
    private let time: Int64
    private let digest: String
    private let sessions: Int
    private var state: AnyEncodable?

    /// Applies what the journal has through the last batch that ends at or below `sequence`; nil: all of it.
    package init(_ reader: SQLiteJournalReader, _ reactor: some Reactor, through sequence: UInt64?) throws {
        let wanted = SequenceNumber(rawValue: sequence ?? UInt64(Int64.max))
        let rebuilt = try RebuiltState(reader, reactor, through: wanted)
        position = "\(rebuilt.log.position)"
        self.sequence = rebuilt.log.position.sequence.rawValue
        time = rebuilt.log.time.rawValue
        digest = "\(rebuilt.state.digest + rebuilt.log.digest)"
        sessions = rebuilt.log.sessions.count
        state = AnyEncodable(rebuilt.state.workingState)
    }

    /// Position and digest alone.
    package var withoutContent: StateReport {
        var report = self
        report.state = nil
        return report
    }

    /// The state as JSON.
    ///
    /// - Throws: `EncodingError` if its types cannot be written as JSON.
    package func json() throws -> JSONValue { try state.map { try JSONValue(of: $0) } ?? .null }
}

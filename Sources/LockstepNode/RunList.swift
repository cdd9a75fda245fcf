package import Foundation
package import LockstepCore

/// An accepted action that has not ended, as an operator sees it.
package struct UnfinishedRun: Codable, Hashable, Sendable {
    /// `epoch:sequence#number`.
    package var id: String
    package var sequence: UInt64
    package var attempts: UInt64
    package var emissions: UInt64
    package var isRunning: Bool
}

/// A page of a store's accepted actions that have not ended, as a primary answers `{"command":"runs"}`.
package struct RunList: Codable, Hashable, Sendable {
    /// The store's name.
    package var store: String
    /// How many have not ended; nil of a node that answers without pages, with all.
    package var count: Int?
    /// In the order of acceptance, at most ``pageLimit`` where there are pages.
    package var runs: [UnfinishedRun]

    /// As many as of sessions: the node does nothing else while it encodes a page.
    package static let pageLimit = 1_000

    /// The sequence number after which the next page begins; nil if nothing follows this page.
    package var next: String? {
        guard count != nil, runs.count >= Self.pageLimit else { return nil }
        return runs.last.map { "\($0.sequence)" }
    }

    /// Asks for page after page.
    ///
    /// - Parameter ask: Gets the number after which a page is to begin, nil for the first; returns the node's answer.
    /// - Returns: The actions of all pages; what is accepted or ends meanwhile may be missing.
    /// - Throws: What `ask` throws, and the error of an answer that is no page.
    package static func all(_ ask: (String?) async throws -> Data) async throws -> [UnfinishedRun] {
        var runs: [UnfinishedRun] = []
        var after: String?
        repeat {
            let page = try JSONDecoder().decode(RunList.self, from: try await ask(after))
            runs += page.runs
            after = page.next
        } while after != nil
        return runs
    }

    /// Reads the number after which a page begins: that of an acceptance, which is valid even after its action ended.
    static func sequence(_ text: String) throws -> SequenceNumber {
        guard let number = UInt64(text) else {
            throw LockstepError(
                .administration, "\(text) is no sequence number, as \"actions list\" prints it beside each action")
        }
        return SequenceNumber(rawValue: number)
    }
}

extension StoreHost {
    /// All accepted actions that have not ended, oldest first.
    ///
    /// Cost: a sort of all that the primary keeps.
    package var unfinishedRuns: [UnfinishedRun] { oldestRuns(after: .zero, limit: .max) }

    /// Those that were accepted after a sequence number, oldest first, at most `limit`.
    ///
    /// Cost: a sort of all that the primary keeps.
    package func oldestRuns(after sequence: SequenceNumber, limit: Int) -> [UnfinishedRun] {
        guard let primary else { return [] }
        let all = inPlace(&primary.machine) { $0.unfinishedRuns }
        return all.drop { $0.run.sequence <= sequence }.prefix(limit).map { run, isRunning in
            UnfinishedRun(
                id: "\(run.id)", sequence: run.sequence.rawValue, attempts: run.attempts, emissions: run.emissions,
                isRunning: isRunning)
        }
    }
}

extension Node {
    func runs(of name: String, after text: String?) throws -> RunList {
        let host = try primary(of: name)
        let after = try text.map { try RunList.sequence($0) } ?? .zero
        return RunList(
            store: name, count: host.primary?.machine.log.runs.unfinishedCount ?? 0,
            runs: host.oldestRuns(after: after, limit: RunList.pageLimit))
    }
}

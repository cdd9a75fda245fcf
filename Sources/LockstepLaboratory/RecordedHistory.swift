package import Foundation
package import LockstepChecking

/// A history as the checkers take it, read from the files of a run's clients.
package struct RecordedHistory: Sendable {
    /// One operation, with what the checkers need of it.
    package struct Call: Sendable {
        package var operation: ObjectOperation
        package var guarantee: ReadGuarantee
        package var outcome: HistoryLine.Outcome?
        package var session: String?
        package var number: UInt64?
        package var count: Int
        package var reason: String?

        /// Whether it writes, and stands for one entry.
        package var isWrite: Bool { operation.input.action != .read }
    }

    /// In the order of their beginning, file by file.
    package private(set) var calls: [Call] = []

    /// Reads the histories of a run; each file's workers count as others than those of the next.
    package init(paths: [String]) throws {
        for (index, path) in paths.enumerated() {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw HistoryError("\(path) cannot be read")
            }
            try append(data, path: path, clients: index * 1_000)
        }
    }

    /// Reads one history.
    package init(data: Data) throws { try append(data, path: "the history", clients: 0) }

    private mutating func append(_ data: Data, path: String, clients: Int) throws {
        let decoder = JSONDecoder()
        var places: [Int: Int] = [:]
        let lines = data.split(separator: UInt8(ascii: "\n"))
        for (index, text) in lines.enumerated() {
            let line: HistoryLine
            do {
                line = try decoder.decode(HistoryLine.self, from: Data(text))
            } catch {
                // The last line of a client that was killed may be cut.
                if index == lines.count - 1, data.last != UInt8(ascii: "\n") { continue }
                throw HistoryError("\(path), line \(index + 1), is not of a history: \(error)")
            }
            if let call = line.call {
                places[line.operation] = calls.count
                let operation = ObjectOperation(
                    client: clients + (line.worker ?? 0), invoked: line.at, input: call)
                calls.append(
                    Call(operation: operation, guarantee: Self.guarantee(line.consistency), count: line.count ?? 1))
            } else if let place = places[line.operation] {
                finish(place, line)
            } else {
                throw HistoryError("\(path), line \(index + 1), ends an operation that never began")
            }
        }
    }

    private mutating func finish(_ place: Int, _ line: HistoryLine) {
        calls[place].outcome = line.outcome
        calls[place].session = line.session ?? calls[place].session
        calls[place].number = line.number ?? calls[place].number
        calls[place].reason = line.reason
        guard line.outcome == .answered, let output = line.output else { return }
        calls[place].operation.returned = line.at
        calls[place].operation.output = output
        if let epoch = line.epoch, let sequence = line.sequence {
            calls[place].operation.place = LogPlace(epoch: epoch, sequence: sequence)
        }
    }

    /// Puts what the log says after a write that has no answer; `nil`: the log does not have it, so it never was.
    package mutating func resolve(_ index: Int, _ found: (output: ObjectOutput, place: LogPlace)?) {
        guard let found else {
            calls[index].outcome = .failed
            return
        }
        calls[index].operation.output = found.output
        calls[index].operation.place = found.place
    }

    private static func guarantee(_ text: String?) -> ReadGuarantee {
        switch text {
        case "local": .nothing
        case "session": .ownWrites
        default: .everythingReturned
        }
    }
}

package import Foundation
package import LockstepSimulator

extension SeedReport {
    /// The report that a worker printed as one line.
    ///
    /// A worker prints nothing else to standard output: with any other line reports could be lost without a word.
    package init(line: Data) throws(UnreadableReport) {
        do { self = try JSONDecoder().decode(SeedReport.self, from: line) } catch {
            throw UnreadableReport(text: String(decoding: line.prefix(UnreadableReport.shown), as: UTF8.self))
        }
    }
}

/// A line of a worker's standard output that is no report.
package struct UnreadableReport: Error, CustomStringConvertible {
    /// How many bytes of the line are shown.
    fileprivate static let shown = 200
    /// Its beginning.
    package let text: String

    package var description: String {
        "a worker printed what is no report of a seed: \(text)\n"
            + "Its standard output is for reports; print to standard error."
    }
}

import Foundation
import LockstepLabCLI
import LockstepSimulator
import Testing

/// The lines by which the processes that run seeds say how each ended.
@Suite struct SeedReportTests {
    private static let report = SeedReport(SimulationResult.run(SimulationOptions(seed: 5, operations: 5)))

    @Test func aReportIsReadAgain() throws {
        let line = try JSONEncoder().encode(Self.report)
        #expect(try SeedReport(line: line) == Self.report)
    }

    /// Anything else that is printed there is an error that shows it, so that no report is lost without a word.
    @Test(arguments: ["here", "here{\"seed\":5}", "{\"seed\":5}"])
    func aLineThatIsNoReportIsAnError(line: String) {
        let error = #expect(throws: UnreadableReport.self) { try SeedReport(line: Data(line.utf8)) }
        #expect(error?.text == line)
    }

    @Test func ofALongLineTheBeginningIsShown() {
        let error = #expect(throws: UnreadableReport.self) { try SeedReport(line: Data(repeating: 0x61, count: 5_000)) }
        #expect(error?.text.utf8.count == 200)
    }
}

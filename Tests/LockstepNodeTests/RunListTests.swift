import Foundation
import LockstepNode
import Testing

/// The accepted actions of a store, as an operator asks for them: page after page.
@Suite(.timeLimit(.minutes(5)))
struct RunListTests {
    private static func row(_ sequence: Int) -> String {
        #"{"id":"1:1#\#(sequence)","sequence":\#(sequence),"attempts":1,"emissions":0,"isRunning":true}"#
    }

    /// An answer with the actions of these sequence numbers, of a node that knows pages if it says how many there are.
    private static func answer(_ sequences: some Sequence<Int>, count: Int?) -> Data {
        let count = count.map { #""count":\#($0),"# } ?? ""
        return Data(#"{\#(count)"store":"sum","runs":[\#(sequences.map(row).joined(separator: ","))]}"#.utf8)
    }

    /// Each page begins after the last action of the one before, and the list is whole, also if the last page is full.
    @Test(arguments: [0, 1, 999, 1_000, 1_001, 2_500, 3_000])
    func allPagesAreAskedFor(count: Int) async throws {
        var asked: [String?] = []
        let runs = try await RunList.all { after in
            asked.append(after)
            let first = (after.flatMap { Int($0) } ?? 0) + 1
            return Self.answer((first...(count + 1)).dropLast().prefix(1_000), count: count)
        }
        #expect(runs.map(\.sequence) == (0..<count).map { UInt64($0 + 1) })
        let expected: [String?] = [nil] + (0..<(count / 1_000)).map { "\(($0 + 1) * 1_000)" }
        #expect(asked == expected)
    }

    /// A node that knows no pages answers each question with all it has, and is asked once.
    @Test(arguments: [0, 1_000, 1_001])
    func aNodeWithoutPagesIsAskedOnce(count: Int) async throws {
        var questions = 0
        let runs = try await RunList.all { _ in
            questions += 1
            return Self.answer((1..<(count + 1)), count: nil)
        }
        #expect(runs.count == count && questions == 1)
    }

    /// What is no sequence number is refused in words; a page may begin after what is not there.
    @Test func aPageBeginsAfterASequenceNumber() async throws {
        let folder = "/tmp/lockstep-test-\(UInt32.random(in: 0 ... .max))"
        // What was not made need not be removed.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var configuration = NodeConfiguration.local()
        configuration.administrationFolder = folder
        let node = try Node(configuration)
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            _ = try await port.add([1])
            func ask(_ after: String) async throws -> String {
                let command = #"{"command":"runs","store":"sum","after":"\#(after)"}"#
                let answer = try await AdministrationClient.ask(folder: folder, command: command)
                return String(decoding: answer, as: UTF8.self)
            }
            #expect(try await ask("x").contains("x is no sequence number"))
            #expect(try await ask("18446744073709551615") == #"{"count":0,"runs":[],"store":"sum"}"#)
        }
    }
}

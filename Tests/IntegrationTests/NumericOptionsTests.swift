import Foundation
import LockstepHarness
import Testing

extension IntegrationTests {
    /// A command as `--experimental-dump-help` describes it.
    private struct Described: Decodable {
        struct Command: Decodable {
            var commandName: String
            var subcommands: [Command]?
            var arguments: [Argument]?
        }

        struct Argument: Decodable {
            struct Name: Decodable {
                var kind: String
                var name: String
            }
            var kind: String
            var names: [Name]?
        }

        var command: Command
    }

    /// What a command's value is typed after: the command and an option's name, or as many values as come before it.
    private struct Slot {
        var command: [String]
        var option: String?
        var before = 0

        /// Nothing runs: an option that does not exist is refused after all values are read.
        func line(_ value: String) -> [String] {
            if let option { return command + ["--\(option)=\(value)", "--no-such-option"] }
            // A number that is below 0 is no option after the two marks.
            return command + ["--no-such-option", "--"] + Array(repeating: "1", count: before) + [value]
        }
    }

    /// Every value that a command takes, by an option or by its place.
    private static func slots(of command: Described.Command, _ path: [String] = []) -> [Slot] {
        let arguments = command.arguments ?? []
        let options = arguments.filter { $0.kind == "option" }.compactMap {
            $0.names?.first { $0.kind == "long" }.map { Slot(command: path, option: $0.name) }
        }
        let places = arguments.filter { $0.kind == "positional" }.indices.map { Slot(command: path, before: $0) }
        return options + places + (command.subcommands ?? []).flatMap { slots(of: $0, path + [$0.commandName]) }
    }

    /// Goal: no number on the command line stops the program by a trap: what is no number, infinite, or out of its range
    /// is refused with status 64 and the range, in every option and at every place of every command of both programs.
    @Test(arguments: [(Bench.program, 20, 8), (Bench.labProgram, 20, 0)])
    func noNumberOfTheCommandLineTraps(program: String, options: Int, places: Int) throws {
        let dumped = try ChildProcess.run(program, ["--experimental-dump-help"])
        let described = try JSONDecoder().decode(Described.self, from: Data(dumped.output.utf8))
        var numeric: [Slot] = []
        for slot in Self.slots(of: described.command) {
            func refusal(_ value: String) throws -> (status: Int32, isInvalid: Bool, text: String) {
                let (status, _, errors) = try ChildProcess.run(program, slot.line(value))
                return (status, errors.contains("is invalid for"), errors)
            }
            guard try refusal("xyzzy").isInvalid else { continue }
            numeric.append(slot)
            for value in ["inf", "-inf", "nan", "1e18", "1e400"] {
                let (status, isInvalid, text) = try refusal(value)
                #expect(status == 64 && isInvalid, "\(slot.line(value)): \(status) \(text)")
            }
            for value in ["-1", "0", "18446744073709551615", "9223372036854775807"] {
                let (status, _, text) = try refusal(value)
                #expect(status == 64, "\(slot.line(value)): \(status) \(text)")
            }
        }
        let named = numeric.filter { $0.option != nil }.count
        #expect(named >= options && numeric.count - named >= places, "\(numeric)")
    }

    /// Goal: what was seen to trap is refused in words that name the range; words that are not UTF-8 are refused, since
    /// two of them would become one name (PROTOCOL, section 3).
    @Test func wrongNumbersAndWordsAreRefusedInWords() throws {
        let cases: [([String], String)] = [
            (["counter", "get", "a", "--timeout", "inf"], "0.001 to 86400"),
            (["counter", "get", "a", "--timeout", "1e18"], "0.001 to 86400"),
            (["counter", "get", "a", "--timeout", "nan"], "0.001 to 86400"),
            (["status", "--data", "x", "--wait", "nan"], "0 to 86400"),
            (["counter", "top", "99999999999999999999"], "1 to 1000"),
            (["journal", "dump", "--data", "x", "--after", "18446744073709551615"], "9223372036854775806"),
            (["sessions", "close", "--data", "x", "--idle", "inf"], "0 to 1000000000"),
            (["sessions", "close", "--data", "x"], "--unused"),
            (["sessions", "close", "--data", "x", "17"], "EPOCH:SEQUENCE"),
            (["actions", "abandon", "17:4", "--data", "x"], "EPOCH:SEQUENCE#NUMBER"),
        ]
        for (arguments, words) in cases {
            let (status, _, errors) = try ChildProcess.run(Bench.program, arguments)
            #expect(status == 64 && errors.contains(words), "\(arguments): \(status) \(errors)")
        }
        for span in ["infs", "1e18s"] {
            let (status, _, errors) = try Bench.lab("simulate", "--for", span)
            #expect(status == 64 && errors.contains("8760h"), "\(span): \(status) \(errors)")
        }
        let shell = try ChildProcess.run(
            "/bin/sh", ["-c", "exec \"$0\" counter add \"$(printf 'a\\377')\"", Bench.program])
        #expect(shell.status == 64 && shell.errors.contains("not UTF-8"), "\(shell)")
    }
}

import LockstepServer
import Testing

/// Flags win over environment variables, which win over the file; what nobody says has its default.
@Suite struct ConfigurationPrecedenceTests {
    /// What says the key `audience-timeout`, and what it is then.
    struct Case: CustomTestStringConvertible, Sendable {
        let flag: String?
        let variable: String?
        let file: String?
        let value: String
        let source: String
        var testDescription: String { "\(flag ?? "-") \(variable ?? "-") \(file ?? "-") is \(value)" }
    }

    static let cases = [
        Case(flag: "1", variable: "2", file: "3", value: "1", source: "flag"),
        Case(flag: "1", variable: "2", file: nil, value: "1", source: "flag"),
        Case(flag: "1", variable: nil, file: "3", value: "1", source: "flag"),
        Case(flag: "1", variable: nil, file: nil, value: "1", source: "flag"),
        Case(flag: nil, variable: "2", file: "3", value: "2", source: "environment DEPOT_SERVE_AUDIENCE_TIMEOUT"),
        Case(flag: nil, variable: "2", file: nil, value: "2", source: "environment DEPOT_SERVE_AUDIENCE_TIMEOUT"),
        Case(flag: nil, variable: "", file: "3", value: "3", source: "FILE, line 2"),
        Case(flag: nil, variable: nil, file: "3", value: "3", source: "FILE, line 2"),
        Case(flag: nil, variable: nil, file: nil, value: "5", source: "default"),
    ]

    @Test(arguments: cases, ["yaml", "json"]) func theNearestSourceWins(_ one: Case, ending: String) async throws {
        let text = one.file.map {
            ending == "yaml" ? "data: x\naudience-timeout: \($0)\n" : "{\"data\": \"x\",\n \"audience-timeout\": \($0)}"
        }
        try await withFile("depot.\(ending)", (text ?? (ending == "yaml" ? "" : "{}")).utf8) { path in
            var words = ["--config", path]
            if text == nil { words += ["--data", "x"] }
            if let flag = one.flag { words += ["--audience-timeout", flag] }
            let environment = one.variable.map { ["DEPOT_SERVE_AUDIENCE_TIMEOUT": $0] } ?? [:]
            let read = try configuration(of: Depot.self, words, environment: environment)
            let setting = try #require(read["audience-timeout"])
            #expect(setting.values == [one.value])
            #expect(setting.source.text == one.source.replacing("FILE", with: path))
        }
    }

    /// What the file says reaches the command as if it were on the command line; the program's own options too.
    @Test func theCommandGetsWhatTheFileSays() async throws {
        let text = """
            data: /data            # a comment
            "replica-of": tcp://10.0.0.1:7400
            snapshot-after: 1048576
            insecure: true
            hold-effects: false
            room: 7
            gate: [north, south]
            colour: red
            light: no
            """
        try await withFile("depot.yml", text.utf8) { path in
            let words = ["serve", "--config", path, "-d", "4", "--gate", "east", "--gate=west"]
            let parsed = try Probe.parseConfigured(words, environment: [:])
            let command = try #require(parsed.command as? Probe.Serve)
            #expect(command.place.data == "/data" && command.place.replicaOf == "tcp://10.0.0.1:7400")
            #expect(command.place.listen == nil && command.place.snapshotAfter == 1 << 20)
            #expect(command.insecure && !command.holdEffects)
            #expect(command.options.room == 7 && command.options.colour == .red && !command.options.light)
            #expect(command.options.doors == 4 && command.options.gate == ["east", "west"])
        }
    }

    /// A `serve` of parts, whose values can be looked at.
    private struct Probe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "probe", subcommands: [Serve.self])

        struct Serve: AsyncParsableCommand {
            @OptionGroup var place: NodePlace<Depot>
            @OptionGroup var options: Depot.Options
            @OptionGroup var source: ConfigurationOptions
            @Flag var insecure = false
            @Flag var holdEffects = false
        }
    }

    /// The file is named by the command line, else by a variable; a flag that is on can be taken back by a variable.
    @Test func theFileIsNamedByAFlagOrAVariable() async throws {
        try await withFile("a.yaml", "room: 1\ninsecure: true\n".utf8) { first in
            try await withFile("b.json", "{\"room\": 2}".utf8) { second in
                let environment = ["DEPOT_CONFIG": first, "DEPOT_SERVE_INSECURE": "false", "DEPOT_SERVE_GATE": "a, b"]
                let byVariable = try configuration(of: Depot.self, ["--data", "x"], environment: environment)
                #expect(byVariable["room"]?.values == ["1"] && byVariable["insecure"]?.values == ["false"])
                #expect(byVariable["gate"]?.values == ["a", "b"])
                #expect(byVariable.arguments == ["--room=1", "--gate=a", "--gate=b"])
                let byFlag = try configuration(
                    of: Depot.self, ["--data", "x", "--config=\(second)"], environment: environment)
                #expect(byFlag["room"]?.values == ["2"])
            }
        }
    }

    /// Without a file and variables nothing is added to the command line, and other commands read nothing.
    @Test func nothingChangesWithoutAConfiguration() throws {
        let words = ["--data", "x", "--listen", "tcp://127.0.0.1:7400", "--insecure"]
        let others = ["LOCKSTEP_NODE": "n", "DEPOT_LISTEN": "y", "DEPOT_DATA": "z", "LOCKSTEP_SERVE_LISTEN": "w"]
        let read = try configuration(of: Depot.self, words, environment: others)
        #expect(read.arguments == [] && read.strayVariables == [])
        #expect(read["listen"]?.values == ["tcp://127.0.0.1:7400"])
        let wrong = ["DEPOT_CONFIG": "/nowhere.yaml"]
        #expect(try Depot.parseConfigured(["status", "--data", "x"], environment: wrong).configuration == nil)
        #expect(throws: CommandFailure.self) { _ = try configuration(of: Depot.self, words, environment: wrong) }
        // Help is given all the same.
        var help = try Depot.parseConfigured(["serve", "--help"], environment: wrong)
        let shown = #expect(throws: (any Error).self) { try help.command.run() }
        #expect(help.configuration == nil && shown.map { Depot.exitCode(for: $0) } == ExitCode.success)
    }

    /// A variable that looks like a key and is none is said, and is no error.
    @Test func aMisspeltVariableIsSaid() throws {
        let read = try configuration(
            of: Depot.self, ["--data", "x"], environment: ["DEPOT_SERVE_LISTN": "1", "DEPOT_SERVE_OTHER_THING": "2"])
        #expect(
            read.strayVariables == [
                "DEPOT_SERVE_LISTN is no key: did you mean DEPOT_SERVE_LISTEN?", "DEPOT_SERVE_OTHER_THING is no key",
            ])
    }

    /// A root command of a user's own with `serve` in it reads the configuration under its own name.
    @Test func aProgramOfPartsReadsItToo() throws {
        struct Short: AsyncParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "short", subcommands: [ServeCommand<Depot>.self],
                defaultSubcommand: ServeCommand<Depot>.self)
        }
        for words in [["serve", "--data", "x"], ["--data", "x"]] {
            let parsed = try Short.parseConfigured(words, environment: ["SHORT_SERVE_ROOM": "9"])
            #expect(parsed.command is ServeCommand<Depot>)
            #expect(parsed.configuration?["data"]?.values == ["x"])
            #expect(parsed.configuration?.arguments == ["--room=9"])
        }
    }
}

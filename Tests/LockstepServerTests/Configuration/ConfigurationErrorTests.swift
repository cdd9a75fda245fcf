import Foundation
import LockstepServer
import Testing

/// A wrong key or value is one line with file, line and key, and says what is right; exit status 64.
@Suite struct ConfigurationErrorTests {
    /// A wrong file, and what the line says after the file's name.
    struct Case: CustomTestStringConvertible, Sendable {
        let ending: String
        let text: String
        let message: String
        var testDescription: String { "\(ending) \(text.prefix(60).replacing("\n", with: "; "))" }

        init(_ ending: String, _ text: String, _ message: String) {
            (self.ending, self.text, self.message) = (ending, text, message)
        }
    }

    static let keys =
        "access, audience-timeout, colour, data, doors, gate, hold-effects, http, insecure, keys, light, listen, "
        + "log-level, replica-of, room, snapshot-after"
    static let size = "a whole number from 1048576 to 9223372036854775807"

    static let cases = [
        Case(
            "yaml", "data: x\n\nlistn: y\n",
            ", line 3: listn: there is no such key; did you mean listen? The keys: \(keys)"),
        Case(
            "json", "{\"data\": \"x\",\n\n\"listn\": \"y\"}",
            ", line 3: listn: there is no such key; did you mean listen? The keys: \(keys)"),
        Case("yaml", "zzz: y", ", line 1: zzz: there is no such key. The keys: \(keys)"),
        Case(
            "yaml", "no-light: true", ", line 1: no-light: there is no such key. The keys: \(keys)"),
        Case("yaml", "config: other.yaml", ", line 1: config: there is no such key. The keys: \(keys)"),
        // Values of the wrong kind.
        Case("yaml", "snapshot-after: [1, 2]", ", line 1: snapshot-after: it has a list; it is \(size)"),
        Case(
            "json", "{\n\"snapshot-after\": true}",
            ", line 2: snapshot-after: it has true or false, which as a text is in quotes; it is \(size)"),
        Case("yaml", "data: x\ninsecure: maybe", ", line 2: insecure: it has a text or a number; it is true or false"),
        Case("json", "{\"insecure\": 1}", ", line 1: insecure: it has a text or a number; it is true or false"),
        Case("yaml", "listen:", ", line 1: listen: it has no value; it is text"),
        Case("json", "{\"listen\": null}", ", line 1: listen: it has no value; it is text"),
        Case("yaml", "listen: ''", ", line 1: listen: its value cannot be used; it is text"),
        Case("yaml", "listen:\n  port: 7400", ", line 1: listen: it has more below it; it is text"),
        Case("json", "{\"listen\": {\"port\": 7400}}", ", line 1: listen: it has more below it; it is text"),
        Case("json", "{\"gate\": [1, 2]}", ", line 1: gate: its value cannot be used; it is text"),
        // Values that the option does not take.
        Case("yaml", "snapshot-after: 12", ", line 1: snapshot-after: the value '12' is invalid: \(size)"),
        Case("json", "{\"snapshot-after\": 12}", ", line 1: snapshot-after: the value '12' is invalid: \(size)"),
        Case("json", "{\"snapshot-after\": 1e30}", ", line 1: snapshot-after: the value '1e+30' is invalid: \(size)"),
        Case(
            "yaml", "audience-timeout: 601", ", line 1: audience-timeout: the value '601' is invalid: seconds, 0 to 600"
        ),
        Case(
            "yaml", "log-level: loud",
            ", line 1: log-level: the value 'loud' is invalid: one of trace, debug, info, notice, warning, error"),
        Case("json", "{\"room\": 0}", ", line 1: room: the value '0' is invalid: a whole number from 1 to 1000000"),
        Case(
            "yaml", "colour: blue",
            ", line 1: colour: the value 'blue' is invalid. Please provide one of 'red' and 'green'."),
        // Keys that are there twice.
        Case("yaml", "room: 1\ndata: x\nroom: 2", ", line 3: room: it is in line 1 already; keep one"),
        Case(
            "json", "{\"room\": 1,\n\"data\": \"x\",\n\"room\": 2}", ", line 3: room: it is in line 1 already; keep one"
        ),
        Case("json", "{\"room\": 1,\n\"r\\u006fom\": 2}", ", line 2: room: it is in line 1 already; keep one"),
        // Files that are no mapping.
        Case("yaml", "- data", ", line 1: it has no keys: write lines such as \"log-level: debug\""),
        Case("json", "[1]", ", line 1: it has no keys: write {\"log-level\": \"debug\"}"),
        Case("json", " \n", ", line 1: it is empty: write {} for no keys"),
        Case("yaml", "data: x\n---\ndata: y", ", line 2: it is no YAML: but found another document"),
    ]

    @Test(arguments: cases) func theLineSaysWhereAndWhatIsRight(_ one: Case) async throws {
        try await withFile("depot.\(one.ending)", one.text.utf8) { path in
            let failure = try #require(refusal(["--config", path]))
            #expect(failure.message == path + one.message)
            #expect(failure.status == .usage)
        }
    }

    /// What the parsers say of a broken file differs with their versions; the line is there, and it is one line.
    @Test(arguments: [
        ("yaml", "data: x\nlisten: \"y\nroom: 1\n", 2...4), ("yaml", "data: x\n\tlisten: y", 2...2),
        ("yaml", "data: &a [*a, \u{7}]", 1...1), ("json", "{\"data\": \"x\",\n\"room\" 1}", 2...2),
        ("json", "{\"data\": \"x\"", 1...1),
        ("yaml", String(repeating: "[", count: 60_000), 1...1),
        ("json", String(repeating: "[", count: 60_000), 1...1),
    ]) func aBrokenFileIsRefusedWithItsLine(ending: String, text: String, lines: ClosedRange<Int>) async throws {
        try await withFile("depot.\(ending)", text.utf8) { path in
            let message = try #require(refusal(["--config", path])).message
            let isLineNamed = lines.contains { message.hasPrefix("\(path), line \($0): it is no ") }
            #expect(isLineNamed, "\(message.prefix(300))")
            let lineCount = message.split(whereSeparator: \.isNewline).count
            #expect(lineCount == 1)
        }
    }

    /// A file that says nothing is right.
    @Test(arguments: [
        ("yaml", ""), ("yaml", "# only a comment\n"), ("yml", "---\n"), ("json", "{}"), ("JSON", "{ }\n"),
    ])
    func aFileWithoutKeysIsRight(ending: String, text: String) async throws {
        try await withFile("depot.\(ending)", text.utf8) { path in
            #expect(refusal(["--config", path])?.message == nil)
        }
    }

    /// Aliases that would grow without end are refused before they can.
    @Test(.timeLimit(.minutes(5))) func aliasesCannotGrow() async throws {
        let maps = (1...60).reduce("a0: &a0 {x: y}") { $0 + ", a\($1): &a\($1) {l: *a\($1 - 1), r: *a\($1 - 1)}" }
        let lists = (1...60).reduce("&b0 [x]") { $0 + ", &b\($1) [*b\($1 - 1), *b\($1 - 1)]" }
        for text in ["gate: {\(maps)}", "gate: [\(lists)]"] {
            try await withFile("depot.yaml", text.utf8) { path in
                #expect(
                    refusal(["--config", path])?.message == "\(path), line 1: gate: it has more below it; it is text")
            }
        }
    }

    @Test func aFileThatCannotBeReadIsRefused() async throws {
        #expect(
            refusal(["--config", "/nowhere/x.yaml"])?.message
                == "/nowhere/x.yaml: it cannot be read: No such file or directory")
        #expect(
            refusal(["--config", "/etc/passwd"])?.message
                == "/etc/passwd: a configuration's name ends with .yaml, .yml or .json")
        try await withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let inner = folder + "/folder.yaml"
            try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
            #expect(refusal(["--config", inner])?.message == "\(inner): it is no file")
            let pipe = folder + "/pipe.json"
            #expect(mkfifo(pipe, 0o600) == 0)
            #expect(refusal(["--config", pipe])?.message == "\(pipe): it is no file")
            // Reading it fails, and it is a file.
            let memory = folder + "/memory.json"
            try FileManager.default.createSymbolicLink(atPath: memory, withDestinationPath: "/proc/self/mem")
            #expect(refusal(["--config", memory])?.message == "\(memory): it cannot be read: Input/output error")
        }
    }

    @Test func aHugeFileAndBytesThatAreNoTextAreRefused() async throws {
        let text = "room: 1 #" + String(repeating: "x", count: ConfigurationText.mostBytes - 9)
        try await withFile("depot.yaml", text.utf8) { path in
            #expect(refusal(["--config", path])?.message == nil)
        }
        try await withFile("depot.yaml", (text + "x").utf8) { path in
            #expect(
                refusal(["--config", path])?.message
                    == "\(path): it has more than 65536 bytes, the most of a configuration")
        }
        let bytes = Array("data: x\n# Gr".utf8) + [0xFC, 0xDF] + Array("e\n".utf8)
        try await withFile("depot.yaml", bytes) { path in
            #expect(refusal(["--config", path])?.message == "\(path), line 2: it is not UTF-8")
        }
    }

    /// A wrong value of a variable is refused with the variable's name.
    @Test(arguments: [
        ("DEPOT_SERVE_ROOM", "0", "the value '0' is invalid: a whole number from 1 to 1000000"),
        ("DEPOT_SERVE_LIGHT", "dark", "it is true or false, not dark"),
        ("DEPOT_SERVE_LOG_LEVEL", "x", "the value 'x' is invalid: one of trace, debug, info, notice, warning, error"),
    ]) func aWrongVariableIsRefused(name: String, value: String, reason: String) throws {
        let failure = refusal([], environment: [name: value])
        #expect(failure?.message == "\(name): \(reason)" && failure?.status == .usage)
    }

    /// Files that were cut anywhere, and files with one byte changed, are read or refused, and nothing traps.
    @Test(arguments: ["yaml", "json"]) func damagedFilesNeverTrap(ending: String) async throws {
        let whole = Array(
            (ending == "yaml"
                ? "data: \"x\\ty\"\nroom: 5 # z\ngate: [a, 'b']\ninsecure: true\n"
                : "{\"data\": \"x\\\\\\\"\\u00e9\", \"room\": 5,\n \"gate\": [\"a\", \"b\"], \"insecure\": true}").utf8)
        var (right, wrong) = (0, 0)
        try await withFile("depot.\(ending)", whole) { path in
            #expect(refusal(["--config", path])?.message == nil)
            // One bit of each byte: a file takes a tenth of a second, and other tests wait for nodes meanwhile.
            let damaged =
                stride(from: 0, to: whole.count, by: 4).map { Array(whole[..<$0]) }
                + whole.indices.map { place in
                    var bytes = whole
                    bytes[place] ^= 1 << (place % 8)
                    return bytes
                }
            for bytes in damaged {
                try Data(bytes).write(to: URL(fileURLWithPath: path))
                if let message = refusal(["--config", path])?.message {
                    wrong += 1
                    #expect(message.hasPrefix(path) && !message.contains(where: \.isNewline), "\(message)")
                } else {
                    right += 1
                }
            }
        }
        #expect(wrong > right && right > 0)
    }
}

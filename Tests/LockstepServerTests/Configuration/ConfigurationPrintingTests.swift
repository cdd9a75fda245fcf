import Foundation
import LockstepServer
import Logging
import Testing

/// `--print-configuration`, and the table of the page, which is made of the same keys.
@Suite struct ConfigurationPrintingTests {
    @Test func eachKeyIsPrintedWithItsValueAndItsSource() async throws {
        try await withFile("depot.yaml", "listen: tcp://127.0.0.1:7400\n\ngate: [a, b]\n".utf8) { path in
            let read = try configuration(
                of: Depot.self, ["--data", "x", "--config", path, "--hold-effects", "--print-configuration"],
                environment: ["DEPOT_SERVE_ROOM": "5"])
            let wide = "tcp://127.0.0.1:7400"
            func line(_ name: String, _ value: String, _ source: String) -> String {
                name.padding(toLength: 16, withPad: " ", startingAt: 0) + "  "
                    + value.padding(toLength: wide.count, withPad: " ", startingAt: 0) + "  " + source
            }
            #expect(
                read.lines == [
                    line("data", "x", "flag"), line("listen", wide, "\(path), line 1"),
                    line("replica-of", "not set", "default"), line("keys", "not set", "default"),
                    line("access", "not set", "default"), line("snapshot-after", "67108864", "default"),
                    line("insecure", "false", "default"), line("hold-effects", "true", "flag"),
                    line("audience-timeout", "5", "default"), line("http", "not set", "default"),
                    line("room", "5", "environment DEPOT_SERVE_ROOM"),
                    line("gate", "a, b", "\(path), line 3"), line("colour", "green", "default"),
                    line("doors", "2", "default"), line("light", "true", "default"),
                    line("log-level", "info", "default"),
                ])
            let json = try JSONDecoder().decode([JSONValue].self, from: Data(try read.json().utf8))
            #expect(json.count == read.settings.count)
            #expect(
                json[1].text
                    == #"{"changesWhileRunning":false,"file":"\#(path)","from":"file","key":"listen","line":1,"value":"\#(wide)"}"#
            )
            #expect(json[2].text == #"{"changesWhileRunning":false,"from":"default","key":"replica-of"}"#)
            #expect(
                json[10].text
                    == #"{"changesWhileRunning":false,"from":"environment","key":"room","value":"5","variable":"DEPOT_SERVE_ROOM"}"#
            )
            #expect(json[11].text.contains(#""value":["a","b"]"#))
            #expect(json[15].text.contains(#""changesWhileRunning":true,"from":"default","key":"log-level""#))
        }
    }

    @Test func jsonGoesWithPrinting() throws {
        #expect(throws: (any Error).self) { _ = try configuration(of: Depot.self, ["--data", "x", "--json"]) }
    }

    /// A command that is not run by `runAsProgram` must not look as if it had read the file.
    @Test func aFileThatNobodyReadsIsNotIgnored() async throws {
        for words in [["--config", "x.yaml"], ["--print-configuration"]] {
            let serve = try ServeCommand<Depot>.parse(["--data", "/nowhere"] + words)
            let failure = await #expect(throws: CommandFailure.self) { try await serve.run() }
            #expect(failure?.message == "this program reads no configuration: its main() has to call runAsProgram()")
        }
    }

    /// Programs' own keys say their limits, whatever they are declared with.
    @Test func theValuesOfAKeyAreThoseOfItsOption() throws {
        let keys = try #require(try ConfigurationKeys(of: ServeCommand<Depot>.self))
        let allowed = Dictionary(uniqueKeysWithValues: keys.all.map { ($0.name, keys.allowed($0)) })
        #expect(allowed["room"] == "a whole number from 1 to 1000000" && allowed["gate"] == "text")
        #expect(allowed["light"] == "true or false" && allowed["doors"] == "a value of its own")
        #expect(allowed["colour"] == "Please provide one of 'red' and 'green'.")
        #expect(keys.all.filter(\.changesWhileRunning).map(\.name) == ["log-level"])
    }

    /// An option with a transform says its default in its help; what it says is what the option has.
    @Test func aDefaultThatIsWrittenIsThatOfTheOption() throws {
        let keys = try #require(try ConfigurationKeys(of: ServeCommand<Lockstep>.self))
        let node = try ServedNode<Lockstep>.parse(["--data", "x"])
        #expect(keys["snapshot-after"]?.usual == "\(node.place.snapshotAfter)")
        #expect(keys["audience-timeout"]?.usual.flatMap { Double($0) } == node.audienceTimeout)
        #expect(keys["log-level"]?.usual == node.logLevel.rawValue)
        #expect(keys.all.allSatisfy { !$0.help.contains("(default") })
    }

    private struct Lockstep: LockstepServer {
        static let name = "lockstep"
        static let about = "The keys that every program has, in the name that the page uses."
        static var stores: Stores { HostedStore("stock", Stock()) }
    }

    /// The table of docs/CONFIGURATION.md is what the options say.
    @Test func theTableOfThePageIsThatOfTheOptions() throws {
        let keys = try #require(try ConfigurationKeys(of: ServeCommand<Lockstep>.self))
        let rows = keys.all.map { key in
            "| `\(key.name)` | \(keys.allowed(key)) | \(key.usual ?? "") | \(key.changesWhileRunning ? "yes" : "no") "
                + "| \(key.help) |"
        }
        let page = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../docs/CONFIGURATION.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let table = text.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init)
        #expect(table == rows, "the table has to be:\n\(rows.joined(separator: "\n"))")
    }

    @Test(arguments: [
        ("listn", "listen"), ("replica_of", "replica-of"), ("snapshotafter", "snapshot-after"), ("dtaa", "data"),
        ("LISTEN", "listen"),
    ]) func theNearestNameIsMeant(wrong: String, meant: String) throws {
        let message = try refusalOfKey(wrong)
        #expect(message.contains("did you mean \(meant)?"), "\(message)")
    }

    @Test(arguments: ["port", "x", "node", String(repeating: "listen", count: 100)])
    func nothingIsMeantByAFarName(wrong: String) throws {
        let message = try refusalOfKey(wrong)
        #expect(message.contains("there is no such key") && !message.contains("did you mean"), "\(message)")
    }

    private func refusalOfKey(_ name: String) throws -> String {
        let keys = try #require(try ConfigurationKeys(of: ServeCommand<Lockstep>.self))
        let text = ConfigurationText(path: "x.yaml", format: .yaml, text: "\(name): y")
        let failure = #expect(throws: CommandFailure.self) { _ = try ConfigurationFile(text, keys: keys) }
        return failure?.message ?? ""
    }
}

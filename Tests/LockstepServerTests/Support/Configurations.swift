import Foundation
import LockstepServer
import Testing

/// A program with options of all kinds of its own.
struct Depot: LockstepServer {
    enum Colour: String, ExpressibleByArgument, CaseIterable { case red, green }

    struct Options: ParsableArguments {
        @Option(help: "The most pieces of an article.", transform: Within.whole(1...1_000_000)) var room = 1_000
        @Option(help: "A gate; may be repeated.") var gate: [String] = []
        @Option(help: "The colour of the doors.") var colour = Colour.green
        @Option(name: [.short, .long], help: "How many doors.") var doors = 2
        @Flag(inversion: .prefixedNo, help: "Whether there is light.") var light = true
    }
    typealias ServeOptions = Options

    static let about = "Keeps goods."
    static var stores: Stores { HostedStore("stock", Stock()) }
}

/// A configuration file in a folder of its own, for as long as `body` takes.
func withFile<Value>(
    _ name: String, _ bytes: some Sequence<UInt8>, _ body: (String) async throws -> Value
) async throws -> Value {
    try await withFolder { folder in
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let path = folder + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try await body(path)
    }
}

/// The configuration of `serve` of a program.
func configuration<Server: LockstepServer>(
    of server: Server.Type, _ words: [String], environment: [String: String] = [:]
) throws -> ServeConfiguration {
    guard let read = try server.parseConfigured(["serve"] + words, environment: environment).configuration else {
        throw CommandFailure("serve reads no configuration")
    }
    return read
}

/// The one line with which a configuration is refused; nil if it is not.
func refusal(_ words: [String], environment: [String: String] = [:]) -> CommandFailure? {
    do {
        _ = try configuration(of: Depot.self, ["--data", "x"] + words, environment: environment)
    } catch let failure as CommandFailure {
        return failure
    } catch {
        Issue.record("refused by the argument parser: \(Depot.message(for: error))")
    }
    return nil
}

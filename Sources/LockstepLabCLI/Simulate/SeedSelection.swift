import ArgumentParser
import Foundation
import LockstepServer
import LockstepSimulator

/// Which seeds are run, and what is pinned in all of them.
struct SeedSelection: ParsableArguments {
    @Option(
        help: "How many seeds. Default: 300, or as many as there is time for.",
        transform: Within.whole(1...1_000_000_000))
    var seeds: Int?
    @Option(help: "One seed to run again, as 0x… or a whole number.", transform: SeedSelection.number)
    var seed: UInt64?
    @Option(help: "The first of the seeds. Default: a fresh number.", transform: SeedSelection.number)
    var first: UInt64?
    @Option(name: .customLong("for"), help: "How long, as 30s, 10m or 2h.", transform: SeedSelection.span)
    var duration: Double?
    @Flag(help: "Run clusters of several data nodes, of which any may become the primary; with --fault alone.")
    var cluster = false
    @Option(name: .customLong("fault"), help: "NAME=STRENGTH, 0 (off) to 1; may stand several times.")
    var faults: [String] = []
    @Option(help: "Stores of every node, 1 or 2.", transform: Within.whole(1...2))
    var stores: Int?
    @Option(help: "Replicas beside the primary, 1 to 8.", transform: Within.whole(1...8))
    var replicas: Int?
    @Option(help: "Client processes, 1 to 64.", transform: Within.whole(1...64))
    var clients: Int?
    @Option(help: "Operations in all.", transform: Within.whole(1...1_000_000))
    var operations: Int?
    @Option(help: "Virtual seconds with faults.", transform: Within.whole(1...100_000))
    var faultTime: Int?
    @Option(help: "Whether the primary's journal is in memory: on or off.")
    var volatile: String?
    @Option(help: "The share of calls about effects, 0 (off) to 1.", transform: Within.fraction(0...1))
    var effects: Double?
    @Option(help: "How many queries each client watches: 0 to 100.", transform: Within.whole(0...100))
    var watches: Int?

    /// How many a worker runs; below 0 until it is stopped.
    var count: Int {
        if seed != nil { return 1 }
        return seeds ?? (duration == nil ? 300 : -1)
    }

    var firstSeed: UInt64 { seed ?? first ?? Self.fresh }

    /// One number for the life of the process, which no earlier run had.
    private static let fresh = UInt64.random(in: 1...(1 << 52))

    var pins: SimulationOptions.Pins {
        get throws {
            var pins = SimulationOptions.Pins()
            pins.stores = stores
            pins.replicas = replicas
            pins.clients = clients
            pins.operations = operations
            pins.faultTime = faultTime.map { Int64($0) * 1_000_000_000 }
            pins.isVolatile = volatile.map { $0 == "on" }
            pins.effects = effects
            pins.watches = watches
            pins.strengths = try strengths(FaultClass.init(rawValue:))
            return pins
        }
    }

    /// What is pinned of clusters of data nodes.
    var clusterPins: [ClusterFault: Double] { get throws { try strengths(ClusterFault.init(rawValue:)) } }

    private func strengths<Fault: Hashable>(_ named: (String) -> Fault?) throws -> [Fault: Double] {
        var strengths: [Fault: Double] = [:]
        for text in faults {
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let fault = named(String(parts[0])) else {
                throw ValidationError("--fault takes NAME=STRENGTH; lockstep-lab simulate --list-faults names them")
            }
            guard let strength = Double(parts[1]), (0...1).contains(strength) else {
                throw ValidationError("the strength of \(parts[0]) must be 0 to 1")
            }
            strengths[fault] = strength
        }
        return strengths
    }

    func check() throws {
        if cluster {
            _ = try clusterPins
            let others: [Any?] = [stores, replicas, clients, operations, faultTime, volatile, effects, watches]
            guard others.allSatisfy({ $0 == nil }) else {
                throw ValidationError("with --cluster nothing but --fault can be pinned")
            }
        } else {
            _ = try pins
        }
        guard volatile.map({ $0 == "on" || $0 == "off" }) ?? true else {
            throw ValidationError("--volatile is on or off")
        }
        guard seed == nil || (seeds == nil && duration == nil && first == nil) else {
            throw ValidationError("--seed runs one seed; leave --seeds, --first and --for out")
        }
    }

    /// What chooses the seeds, for a line to copy.
    func description(first: UInt64) -> String {
        if seed != nil { return "--seed 0x\(String(first, radix: 16))" }
        let many = count > 0 ? " --seeds \(count)" : duration.map { " --for \(Int($0))s" } ?? ""
        return "--first 0x\(String(first, radix: 16))\(many)"
    }

    /// What is pinned, for a line to copy; it begins with a space unless it is empty.
    var pinnedDescription: String {
        get throws {
            let words = try pinnedWords
            return words.isEmpty ? "" : " " + words.joined(separator: " ")
        }
    }

    /// Whether nothing is pinned that keeps seeds from showing something; how long they are does not count.
    var showsEverything: Bool {
        faults.isEmpty && stores == nil && volatile == nil && effects == nil && watches == nil
    }

    private var pinnedWords: [String] {
        get throws {
            guard cluster else {
                return SimulationOptions.description(of: try pins).split(separator: " ").map(String.init)
            }
            return ["--cluster"] + faults.flatMap { ["--fault", $0] }
        }
    }

    /// The arguments with which a worker gets the same.
    func workerArguments(first: UInt64, share: Int?) throws -> [String] {
        var arguments = ["--first", "\(first)"]
        if let share { arguments += ["--seeds", "\(share)"] } else { arguments += ["--for", "1h"] }
        return arguments + (try pinnedWords)
    }

    static func number(_ text: String) throws -> UInt64 {
        let value = text.hasPrefix("0x") ? UInt64(text.dropFirst(2), radix: 16) : UInt64(text)
        guard let value else { throw ValidationError("a seed is 0x… or a whole number, not \(text)") }
        return value
    }

    static func span(_ text: String) throws -> Double {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600]
        guard let last = text.last, let unit = units[last], let value = Double(text.dropLast()),
            (0.001...31_536_000).contains(value * unit)
        else { throw ValidationError("--for takes 30s, 10m or 2h, up to 8760h, not \(text)") }
        return value * unit
    }
}

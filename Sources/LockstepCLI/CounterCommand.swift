import Counters
import LockstepCommands
import LockstepNode
import LockstepServer

/// `lockstep counter`: the counters of a running cluster, without holding a replica.
struct CounterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "counter", abstract: "Adds to, sets, reads and watches the counters of a cluster.",
        subcommands: [
            Add.self, SetValue.self, Reset.self, Get.self, List.self, Top.self, Limit.self, Take.self, Watch.self,
        ])

    /// Which node is asked, and how the answer is printed.
    struct Options: ParsableArguments {
        @OptionGroup var asked: AskedNode
        @Flag(help: "Print JSON.")
        var json = false

        var patience: Duration { asked.patience }

        /// Runs a client node for as long as `body` runs.
        func withCounters<Value>(_ body: (RemoteStore<Counters>) async throws -> Value) async throws -> Value {
            try await asked.withOneAnswer(Counters.self, named: Hosted.counters, body)
        }

        /// An outcome that stays unknown names the command that asks for it.
        func naming<Value>(_ body: () async throws -> Value) async throws -> Value {
            try await asked.naming(LockstepCommand.self, store: Hosted.counters, body)
        }

        func send(_ action: Counters.Action, _ name: String) async throws {
            let patience = patience
            let receipt = try await naming { try await withCounters { try await $0.send(action, timeout: patience) } }
            let line = CounterLine(name: name, receipt: receipt)
            if json { try Output.json(line) } else { Output.line(line.text) }
        }

        func ask(_ query: Counters.Query, linearizable: Bool) async throws -> Answered<Counters.Answer> {
            let patience = patience
            return try await withCounters {
                try await $0.ask(query, linearizable ? .linearizable : .local, timeout: patience)
            }
        }

        func printList(_ query: Counters.Query) async throws {
            let read = try await ask(query, linearizable: false)
            guard case .list(let counters) = read.answer else {
                throw CommandFailure("the node gave another answer than a list")
            }
            if json {
                return try Output.json(ReadLine(["counters": counters], place: read.place, time: read.time))
            }
            let width = counters.map { String($0.value).count }.max() ?? 0
            for counter in counters {
                let value = String(counter.value)
                Output.line(String(repeating: " ", count: width - value.count) + value + "  " + counter.name)
            }
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Adds to a counter and prints its new value.",
            discussion: "  lockstep counter add visits\n  lockstep counter add visits -- -3")
        @Argument(help: "The counter: 1 to 256 bytes of UTF-8.")
        var name: String
        @Argument(help: "How much.")
        var amount: Int64 = 1
        @OptionGroup var options: Options
        func run() async throws { try await options.send(.add(name, by: amount), name) }
    }

    struct SetValue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Gives a counter a value.", discussion: "  lockstep counter set visits 100")
        @Argument(help: "The counter.")
        var name: String
        @Argument(help: "The value.")
        var value: Int64
        @OptionGroup var options: Options
        func run() async throws { try await options.send(.set(name, to: value), name) }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Takes a counter away and prints its last value.", discussion: "  lockstep counter reset visits")
        @Argument(help: "The counter.")
        var name: String
        @OptionGroup var options: Options
        func run() async throws { try await options.send(.reset(name), name) }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a counter's value as the node has it.",
            discussion: "  lockstep counter get visits --node tcp://127.0.0.1:7410")
        @Argument(help: "The counter.")
        var name: String
        @Flag(help: "Ask the primary for everything acknowledged until now.")
        var linearizable = false
        @OptionGroup var options: Options
        func run() async throws {
            let read = try await options.ask(.get(name), linearizable: linearizable)
            guard case .value(let value) = read.answer else {
                throw CommandFailure("the node gave another answer than a value")
            }
            guard let value else { throw CommandFailure("there is no counter \(name)") }
            if options.json {
                try Output.json(
                    ReadLine(Counters.Counter(name: name, value: value), place: read.place, time: read.time))
            } else {
                Output.line(String(value))
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists counters in the order of their names; with --json one object, as \"counter get\" has it.",
            discussion: "  lockstep counter list page/ --limit 20")
        @Argument(help: "Only names that begin with this.")
        var prefix: String = ""
        @Option(help: "At most this many, up to 1000.", transform: Within.whole(1...1_000))
        var limit: Int = 100
        @OptionGroup var options: Options
        func run() async throws { try await options.printList(.list(prefix: prefix, limit: limit)) }
    }

    struct Top: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lists the counters with the greatest values.", discussion: "  lockstep counter top 10")
        @Argument(help: "How many, up to 1000.", transform: Within.whole(1...1_000))
        var count: Int = 10
        @OptionGroup var options: Options
        func run() async throws { try await options.printList(.top(count)) }
    }

    struct Limit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Bounds a counter, or makes a bucket of tokens that fills with time.",
            discussion: """
                  lockstep counter limit seats --lowest 0 --highest 10
                  lockstep counter limit seats --none
                  lockstep counter limit api --capacity 20 --per-second 5
                """)
        @Argument(help: "The counter, or the bucket.")
        var name: String
        @Option(help: "The least value.")
        var lowest: Int64?
        @Option(help: "The greatest value.")
        var highest: Int64?
        @Flag(help: "Take the bounds away.")
        var none = false
        @Option(help: "The most tokens in a bucket.")
        var capacity: Int64?
        @Option(help: "The tokens that come each second.")
        var perSecond: Int64?
        @OptionGroup var options: Options

        func run() async throws {
            try await options.send(action(), name)
        }

        private func action() throws -> Counters.Action {
            switch (none, lowest ?? highest, capacity, perSecond) {
            case (true, nil, nil, nil): return .unbound(name)
            case (false, .some, nil, nil):
                return .bound(name, Counters.Bounds(lowest: lowest ?? .min, highest: highest ?? .max))
            case (false, nil, let capacity?, let perSecond?):
                return .defineBucket(
                    name, TokenBucket.Rate(capacity: capacity, refill: perSecond))
            default:
                throw ValidationError("give --lowest and --highest, or --none, or --capacity and --per-second")
            }
        }
    }

    struct Take: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Takes tokens from a bucket, all or none.",
            discussion: "Exit status 1 if there are too few.\n\n  lockstep counter take api 3")
        @Argument(help: "The bucket.")
        var name: String
        @Argument(help: "How many.")
        var count: Int64 = 1
        @OptionGroup var options: Options
        func run() async throws {
            let patience = options.patience
            let name = name
            let count = count
            let receipt = try await options.naming {
                try await options.withCounters { try await $0.send(.take(name, count), timeout: patience) }
            }
            let line = CounterLine(name: name, receipt: receipt)
            if options.json { try Output.json(line) } else { Output.line(line.text) }
            if case .denied = receipt.reply { throw ExitCode(1) }
        }
    }

    struct Watch: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints a counter whenever it changes, until Ctrl-C: the node sends each change.",
            discussion: "  lockstep counter watch visits")
        @Argument(help: "The counter.")
        var name: String
        @OptionGroup var options: Options

        /// Without a value once it is gone.
        private struct Watched: Encodable {
            var name: String
            var value: Int64?
        }

        func run() async throws {
            var configuration = NodeConfiguration.client(of: parseNodes(options.asked.node))
            configuration.allowsPlaintext = options.asked.insecure
            try options.asked.keyOptions.apply(to: &configuration)
            let (name, json, asked) = (name, options.json, options.asked.node)
            let node = try Node(configuration, logger: Program.quiet)
            let counters = try node.remote(Counters.self, named: Hosted.counters)
            try await node.whileRunning {
                try await WaitNotice.until("an answer of \(asked)") { notice in
                    var last: Int64??
                    for try await read in counters.watch(.get(name), atMost: .milliseconds(10)) {
                        notice.end()
                        guard case .value(let value) = read.answer, last != .some(value) else { continue }
                        // Of a counter that was never there nothing is said.
                        let isFirst = last == nil
                        last = .some(value)
                        guard value != nil || !isFirst else { continue }
                        guard json else {
                            Output.line(value.map { "\(name) \($0)" } ?? "\(name) is gone")
                            continue
                        }
                        try Output.json(
                            ReadLine(Watched(name: name, value: value), place: read.place, time: read.time))
                    }
                }
            }
        }
    }
}

/// What a sent action came to, as one line or as JSON.
struct CounterLine: Encodable {
    var name: String
    var value: Int64?
    var remaining: Int64?
    var deniedUntil: Int64?
    var epoch: UInt64
    var sequence: UInt64

    init(name: String, receipt: Receipt<Counters.Reply>) {
        self.name = name
        epoch = receipt.place.epoch.rawValue
        sequence = receipt.place.sequence.rawValue
        switch receipt.reply {
        case .value(let value): self.value = value
        case .granted(let remaining): self.remaining = remaining
        case .denied(let until): deniedUntil = until.rawValue
        case .done: break
        }
    }

    var text: String {
        if let value { return String(value) }
        if let remaining { return "granted, \(remaining) left" }
        if let deniedUntil { return "denied until \(deniedUntil)" }
        return "done"
    }
}

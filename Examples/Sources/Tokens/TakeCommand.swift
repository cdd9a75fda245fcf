import Foundation
import LockstepServer

/// `take`: takes tokens by several callers at once, each of which waits for its answer before it asks again.
struct TakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take", abstract: "Takes tokens, and says how long the callers waited.",
        discussion: """
            It fails if a caller sees an error, or if a number is given out twice.

              tokens take 10000 --callers 16 --node tcp://10.0.0.1:7400,tcp://10.0.0.2:7400,tcp://10.0.0.3:7400
            """)

    @Argument(help: "How many tokens: 1 to 1000000.", transform: Within.whole(1...1_000_000))
    var count: Int
    @Option(help: "How many callers: 1 to 1000. (default: 16)", transform: Within.whole(1...1000))
    var callers = 16
    @Option(help: "A file that gets a line for each token: its number, when it was asked for, how long that took.")
    var to: String?
    @OptionGroup var asked: AskedNode

    func run() async throws {
        let ledger = Ledger(count)
        let patience = asked.patience
        try await asked.withStore(TokenRoll.self, named: "tokens") { tokens in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<callers {
                    group.addTask {
                        while await ledger.mayAsk() {
                            let begin = ContinuousClock.now
                            do {
                                let number = try await tokens.send(.take, timeout: patience).reply
                                await ledger.note(number, askedAt: begin)
                            } catch {
                                await ledger.note(error)
                            }
                        }
                    }
                }
            }
        }
        if let to { try await ledger.lines.write(toFile: to, atomically: true, encoding: .utf8) }
        try await ledger.judge()
    }
}

/// What the callers have asked for and got.
private actor Ledger {
    private struct Token {
        var number: Int
        var begin: ContinuousClock.Instant
        var wait: Duration
    }

    private let count: Int
    private let start = ContinuousClock.now
    private var asked = 0
    private var tokens: [Token] = []
    private var errors = 0

    init(_ count: Int) { self.count = count }

    /// Whether there is one more to ask for; counts it.
    func mayAsk() -> Bool {
        guard asked < count else { return false }
        asked += 1
        return true
    }

    func note(_ number: Int, askedAt begin: ContinuousClock.Instant) {
        tokens.append(Token(number: number, begin: begin, wait: .now - begin))
        if tokens.count.isMultiple(of: max(1, count / 10)) { Output.line("\(tokens.count) of \(count)") }
    }

    func note(_ error: any Error) {
        errors += 1
        Output.error("a caller got no token: \(error)")
    }

    /// A line for each token, in the order of the answers.
    var lines: String {
        tokens.map { "\($0.number) \(milliseconds($0.begin - start)) \(milliseconds($0.wait))\n" }.joined()
    }

    /// Prints what became of it.
    func judge() throws {
        let numbers = Set(tokens.map(\.number))
        let range = "\(numbers.min() ?? 0) to \(numbers.max() ?? 0)"
        let longest = tokens.map(\.wait).max() ?? .zero
        Output.line(
            "\(tokens.count) tokens, \(numbers.count) different ones, \(range), in \(milliseconds(.now - start)) ms; "
                + "the longest wait was \(milliseconds(longest)) ms; errors: \(errors)")
        guard errors == 0, numbers.count == count else {
            throw CommandFailure("\(count) tokens were asked for, and not each came, with a number of its own")
        }
    }

    private func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}

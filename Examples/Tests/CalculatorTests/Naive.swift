import Calculator
import Foundation

/// A calculation as it would be written down: a number, then operations with further numbers, worked off from the left.
///
/// Its results come from Foundation's decimal numbers, which share nothing with the calculator's own.
struct Calculation {
    var first: String
    var steps: [(operation: Calculator.Operation, number: String)]

    init(using generator: inout some RandomNumberGenerator) {
        first = Self.number(using: &generator)
        steps = (0..<Int.random(in: 1...6, using: &generator)).map { _ in
            let operation = Calculator.Operation.allCases.randomElement(using: &generator) ?? .add
            return (operation, Self.number(using: &generator))
        }
    }

    /// Up to five digits before and four after the point, now and then negative, written without needless zeros.
    private static func number(using generator: inout some RandomNumberGenerator) -> String {
        let whole = Int.random(in: 0..<100_000, using: &generator)
        let shifts = Int.random(in: 0...5, using: &generator)
        let scale = (0..<shifts).reduce(1) { product, _ in product * 10 }
        let fraction = Int.random(in: 0..<10_000, using: &generator)
        let isNegative = Int.random(in: 0..<4, using: &generator) == 0 && whole / scale > 0
        let text = "\(whole / scale)" + (fraction % 3 == 0 ? "" : ".\(fraction)")
        return isNegative ? "-" + text : text
    }

    /// What is pressed for it; a sign is changed after the number.
    var keys: [Calculator.Action] {
        Self.keys(first) + steps.flatMap { [.operation($0.operation)] + Self.keys($0.number) } + [.equal]
    }

    private static func keys(_ number: String) -> [Calculator.Action] {
        let digits: [Calculator.Action] = number.compactMap { character in
            if character == "." { return .dot }
            return character.wholeNumberValue.map { .digit($0) }
        }
        return digits + (number.hasPrefix("-") ? [.changeSign] : [])
    }

    /// What the display must show.
    var result: String {
        guard var value = Decimal(string: first) else { return "no number: \(first)" }
        for step in steps {
            guard let number = Decimal(string: step.number) else { return "no number: \(step.number)" }
            switch step.operation {
            case .add: value += number
            case .subtract: value -= number
            case .multiply: value *= number
            case .divide:
                if number == 0 { return "inf" }
                value /= number
            }
            value = Self.cutOff(value)
            if abs(value) >= 1_000_000_000 { return "inf" }
        }
        return "\(value)"
    }

    /// Nothing after the ninth digit, towards zero.
    private static func cutOff(_ value: Decimal) -> Decimal {
        var (magnitude, rounded) = (abs(value), Decimal())
        NSDecimalRound(&rounded, &magnitude, 9, .down)
        return value < 0 ? -rounded : rounded
    }
}

/// Random numbers that are the same at every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

import Calculator
import Lockstep
import LockstepTesting
import Testing

/// The calculator: by example, against a naive evaluator, and the same on every node.
struct CalculatorTests {
    private func state(after keys: some Sequence<Calculator.Action>) -> Calculator.State {
        let context = ReduceContext(time: .zero, epoch: .zero, sequence: .zero)
        return keys.reduce(into: Calculator().initialState) { Calculator.reduce(into: &$0, $1, context) }
    }

    /// Presses what the text says: digits, `.`, `+-*/=`, `~` for the sign, `%`, `c`.
    private func screen(_ text: String) -> String {
        let keys: [Character: Calculator.Action] = [
            ".": .dot, "+": .operation(.add), "-": .operation(.subtract), "*": .operation(.multiply),
            "/": .operation(.divide), "=": .equal, "~": .changeSign, "%": .percent, "c": .clear,
        ]
        return state(after: text.compactMap { $0.wholeNumberValue.map { .digit($0) } ?? keys[$0] }).screen
    }

    @Test(arguments: [
        ("", "0"), ("007", "7"), ("1.2.3", "1.23"), ("0.50", "0.50"), ("5~", "-5"), ("5~~", "5"), ("0~", "0"),
        ("5%", "0.05"), ("1234567890", "123456789"), ("12c", "0"),
        ("1+2", "2"), ("1+", "0"), ("1+2=", "3"), ("1+2+", "0"), ("1+2+3=", "6"), ("8-*2=", "16"), ("5=", "5"),
        ("5+=", "0"), ("0.1+0.2=", "0.3"), ("1/3=", "0.333333333"), ("1~/3=", "-0.333333333"), ("2/4=", "0.5"),
        ("1/0=", "inf"), ("1/0+1=", "inf"), ("1/0=7", "7"), ("999999999+1=", "inf"), ("7+.5=", "7.5"),
    ]) func theScreenShows(_ pressed: String, _ shown: String) {
        #expect(screen(pressed) == shown)
    }

    /// The calculator comes to what a naive evaluator comes to.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func itAgreesWithANaiveEvaluator(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let calculation = Calculation(using: &generator)
            try #require(state(after: calculation.keys).screen == calculation.result, "\(calculation)")
        }
    }

    /// Whatever is pressed: the display has room for it, and all nodes show the same.
    @Test(arguments: 1...5 as ClosedRange<UInt64>) func anyKeysGiveTheSameOnAllNodes(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let keys = (0..<300).map { _ in randomKey(using: &generator) }
        let form = /-?\d{1,9}(\.\d{0,9})?|inf/
        for count in keys.indices {
            let screen = state(after: keys[...count]).screen
            #expect(screen.wholeMatch(of: form) != nil, "\(screen) after \(keys[...count])")
        }
        let report = try checkDeterminism(of: Calculator(), actions: keys, processes: 2)
        #expect(report.entries >= keys.count && report.rejections == 0)
    }

    private func randomKey(using generator: inout some RandomNumberGenerator) -> Calculator.Action {
        switch Int.random(in: 0..<24, using: &generator) {
        // 10 and 11 are no keys, and must do nothing.
        case let digit where digit < 12: .digit(digit)
        case 12, 13: .dot
        case 14: .changeSign
        case 15: .percent
        case 16...21: .operation(Calculator.Operation.allCases.randomElement(using: &generator) ?? .add)
        case 22: .equal
        default: .clear
        }
    }
}

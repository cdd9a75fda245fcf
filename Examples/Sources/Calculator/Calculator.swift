import Lockstep

/// A pocket calculator: its keys are its actions and its mutations, and all of it is in the reducer.
///
/// Everybody who holds a replica sees the same display, to the last digit, because no floating point is in it: operands
/// are the text that was typed, and results are whole numbers of billionths.
public struct Calculator: Reactor {
    /// What can be pressed.
    public enum Action: Codable, Hashable, Sendable {
        /// 0 to 9; any other number is no key and does nothing.
        case digit(Int)
        /// The decimal point; the second one in a number does nothing.
        case dot
        /// Makes the operand negative, or positive again.
        case changeSign
        /// Divides the operand by 100.
        case percent
        /// Keeps the operand, and begins the second one.
        case operation(Operation)
        /// Computes; it needs two operands.
        case equal
        /// Begins anew.
        case clear
    }

    /// What is done with two operands.
    public enum Operation: String, Codable, Hashable, Sendable, CaseIterable {
        /// Their sum.
        case add
        /// Their difference.
        case subtract
        /// Their product.
        case multiply
        /// Their quotient.
        case divide
    }

    /// How far a calculation is.
    public enum State: Codable, Hashable, Sendable {
        /// There is one operand.
        case operand(Operand)
        /// There is one, and what to do with it and the next.
        case operation(Number, Operation)
        /// There are two.
        case operands(Number, Operation, Operand)

        /// What the display shows.
        public var screen: String {
            switch self {
            case .operand(let operand), .operands(_, _, let operand): operand.text
            case .operation: "0"
            }
        }
    }

    /// The display shows 0.
    public let initialState = State.operand(Operand())

    /// Makes a calculator.
    public init() {}

    /// Carries out a key, on every node.
    public static func reduce(into state: inout State, _ key: Action, _ context: ReduceContext) {
        switch key {
        case .digit(let digit): edit(&state) { $0.append(digit) }
        case .dot: edit(&state) { $0.appendDot() }
        case .changeSign: edit(&state) { $0.changeSign() }
        case .percent: edit(&state) { $0 = Operand($0.value / Number(100)) }
        case .operation(let next): state = .operation(result(of: state), next)
        case .equal:
            // With one operand there is nothing to compute.
            if case .operands = state { state = .operand(Operand(result(of: state))) }
        case .clear: state = .operand(Operand())
        }
    }

    /// Changes the operand that is shown; after an operation that is a new one.
    private static func edit(_ state: inout State, _ change: (inout Operand) -> Void) {
        switch state {
        case .operand(var operand):
            change(&operand)
            state = .operand(operand)
        case .operation(let left, let operation):
            var operand = Operand()
            change(&operand)
            state = .operands(left, operation, operand)
        case .operands(let left, let operation, var operand):
            change(&operand)
            state = .operands(left, operation, operand)
        }
    }

    private static func result(of state: State) -> Number {
        switch state {
        case .operand(let operand): operand.value
        case .operation(let left, _): left
        case .operands(let left, .add, let right): left + right.value
        case .operands(let left, .subtract, let right): left - right.value
        case .operands(let left, .multiply, let right): left * right.value
        case .operands(let left, .divide, let right): left / right.value
        }
    }
}

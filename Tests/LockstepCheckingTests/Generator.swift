import LockstepChecking

typealias Call = Operation<CounterCall, CounterOutput>

/// Steele, Lea and Flood's SplitMix64: the same numbers everywhere.
struct Generator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1.
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    /// True once in `n` times.
    mutating func oneIn(_ n: Int) -> Bool { below(n) == 0 }
}

/// What a generated history should look like.
struct Shape {
    var operations = 6
    var clients = 3
    /// One operation in so many never returns; 0: all return.
    var unknownOneIn = 6
    /// Only additions, and one read in three.
    var isAddOnly = false
    var keys = ["a"]
    /// The longest time to the effect, and from it to the return.
    var delay = 10
}

/// A register's own rules, written again so that a slip in the model shows.
struct Register {
    var value: Int64?
    var bounds: ClosedRange<Int64>?

    mutating func perform(_ action: CounterCall.Action) -> CounterOutput {
        let wanted: Int64
        switch action {
        case .read:
            guard let value else { return .absent }
            return .value(value)
        case .reset:
            guard let old = value, bounds?.contains(0) != false else { return .rejected }
            value = nil
            return .value(old)
        case .add(let amount): wanted = (value ?? 0) + amount
        case .set(let new): wanted = new
        case .compareAndSet(let expected, let new):
            guard expected == value else { return .rejected }
            wanted = new
        }
        guard bounds?.contains(wanted) != false else { return .rejected }
        value = wanted
        return .value(wanted)
    }
}

extension Generator {
    /// A history that a register really had: each operation takes effect at one moment after its invocation.
    ///
    /// Places follow the effects; `log` has the places and outputs of all operations that took effect, also of those
    /// whose clients never learned it.
    mutating func validHistory(
        _ shape: Shape, bounds: [String: ClosedRange<Int64>] = [:]
    ) -> (calls: [Call], log: [Int: (output: CounterOutput, place: LogPlace)]) {
        var free = Array(repeating: Int64(0), count: shape.clients)
        var numbers = Array(repeating: UInt64(0), count: shape.clients)
        var calls: [Call] = []
        var effects: [(time: Int64, index: Int, returned: Int64?)] = []
        for index in 0..<shape.operations {
            let client = below(shape.clients)
            let invoked = free[client] + Int64(below(shape.delay))
            let call = CounterCall(shape.keys[below(shape.keys.count)], action(shape))
            if call.action != .read { numbers[client] += 1 }
            calls.append(
                Call(
                    client: client, number: call.action == .read ? nil : numbers[client], invoked: invoked, input: call)
            )
            let effect = invoked + Int64(below(shape.delay))
            if shape.unknownOneIn > 0, oneIn(shape.unknownOneIn) {
                // A client that never learns the outcome opens another session; half of its last writes are lost.
                if oneIn(2) { effects.append((effect + Int64(below(shape.delay * 4)), index, nil)) }
                free[client] = invoked + Int64(shape.delay)
                calls[index].number = nil
                if call.action != .read { numbers[client] -= 1 }
            } else {
                effects.append((effect, index, effect + Int64(below(shape.delay))))
                free[client] = (effects.last?.returned ?? 0) + 1
            }
        }
        var registers: [String: Register] = [:]
        var log: [Int: (output: CounterOutput, place: LogPlace)] = [:]
        var sequence: UInt64 = 0
        for effect in effects.sorted(by: { ($0.time, $0.index) < ($1.time, $1.index) }) {
            let call = calls[effect.index].input
            let output = registers[call.key, default: Register(bounds: bounds[call.key])].perform(call.action)
            if call.action != .read { sequence += 1 }
            let place = LogPlace(epoch: 1 + sequence / 50, sequence: sequence)
            log[effect.index] = (output, place)
            guard let returned = effect.returned else { continue }
            calls[effect.index].returned = returned
            calls[effect.index].output = output
            calls[effect.index].place = place
        }
        return (calls, log)
    }

    private mutating func action(_ shape: Shape) -> CounterCall.Action {
        if shape.isAddOnly { return oneIn(3) ? .read : .add(Int64(below(7)) - 2) }
        return switch below(8) {
        case 0, 1: .add(Int64(below(4)) - 1)
        case 2: .set(Int64(below(3)))
        case 3: .reset
        case 4: .compareAndSet(expected: oneIn(3) ? nil : Int64(below(3)), new: Int64(below(3)))
        default: .read
        }
    }

    /// Damages a history: another output, two outputs exchanged, or an operation at another time.
    mutating func damage(_ calls: inout [Call]) {
        let answered = calls.indices.filter { calls[$0].output != nil }
        guard !answered.isEmpty else { return }
        let index = answered[below(answered.count)]
        switch below(4) {
        case 0:
            calls[index].output = [.value(Int64(below(5)) - 1), .absent, .rejected][below(3)]
        case 1:
            let other = answered[below(answered.count)]
            (calls[index].output, calls[other].output) = (calls[other].output, calls[index].output)
        case 2:
            if case .value(let value) = calls[index].output {
                calls[index].output = .value(value + (oneIn(2) ? 1 : -1))
            }
        default:
            let shift = Int64(below(60)) - 30
            calls[index].invoked += shift
            calls[index].returned = calls[index].returned.map { $0 + shift }
        }
    }
}

/// Tries all orders of a short history of one key; what is certain to stand in the order has to.
func hasOrder(_ calls: [Call], bounds: ClosedRange<Int64>? = nil) -> Bool {
    func extend(_ left: [Call], _ register: Register) -> Bool {
        guard left.contains(where: \.isOrdered) else { return true }
        for (index, call) in left.enumerated() {
            let hasEarlier = left.contains { other in other.returned.map { $0 < call.invoked } ?? false }
            if hasEarlier { continue }
            var register = register
            let output = register.perform(call.input.action)
            if let seen = call.output, seen != output { continue }
            var rest = left
            rest.remove(at: index)
            if extend(rest, register) { return true }
        }
        return false
    }
    return extend(calls, Register(bounds: bounds))
}

extension LinearizabilityVerdict {
    /// Whether an order was found; `nil` if undecided.
    var holds: Bool? {
        switch self {
        case .linearizable: true
        case .notLinearizable: false
        case .undecided: nil
        }
    }

    /// The evidence against an order, if that is the verdict.
    var evidence: LinearizabilityEvidence<Model>? {
        guard case .notLinearizable(let evidence) = self else { return nil }
        return evidence
    }
}

/// An operation on the counter `a`.
func call(
    _ client: Int, _ invoked: Int64, _ returned: Int64?, _ action: CounterCall.Action, _ output: CounterOutput? = nil,
    at sequence: UInt64? = nil, number: UInt64? = nil
) -> Call {
    Call(
        client: client, number: number, invoked: invoked, returned: returned, input: CounterCall("a", action),
        output: output, place: sequence.map { LogPlace(epoch: 1, sequence: $0) })
}

import Counters
package import LockstepCore
import Lockstep
import LockstepChecking

/// Callers of the real `Counters` reactor, and what the checkers know of counters.
///
/// Counters named `a…` are only added to, `m…` are also set and taken away, `b…` have bounds that change; the rest
/// belongs to rogue clients and is not judged.
package final class CountersWorkload: Workload {
    private let sums: Int
    private let mixed: Int

    package init(sums: Int = 4, mixed: Int = 6) {
        self.sums = sums
        self.mixed = mixed
    }

    package func makeState() -> any ReplicatedState { ReactorState(alone: PlacedCounters()) }

    // MARK: - Calls

    package func next(caller: Int, random: inout SplitMix64) -> Call? {
        guard caller >= 0 else { return encoded(.add("rogue\(random.next(below: 4))", by: random.between(-3, 3))) }
        switch random.next(below: 100) {
        case 0..<30: return encoded(.add("a\(random.next(below: UInt64(sums)))", by: random.between(-3, 20)))
        case 30..<50: return encoded(.add(mixedName(&random), by: random.between(-5, 5)))
        case 50..<58: return encoded(.set(mixedName(&random), to: random.between(-100, 100)))
        case 58..<62: return encoded(.reset(mixedName(&random)))
        case 62..<66: return encoded(bounded(&random))
        case 66..<90:
            let name = random.chance(0.5) ? mixedName(&random) : "a\(random.next(below: UInt64(sums)))"
            return read(.get(name), &random)
        case 90..<95: return read(.top(5), &random)
        case 95..<98: return read(.sum(prefix: "a"), &random)
        default: return read(.list(prefix: "m", limit: 10), &random)
        }
    }

    private func mixedName(_ random: inout SplitMix64) -> String { "m\(random.next(below: UInt64(mixed)))" }

    private func bounded(_ random: inout SplitMix64) -> Counters.Action {
        let name = "b\(random.next(below: 2))"
        switch random.next(below: 4) {
        case 0: return .bound(name, Counters.Bounds(lowest: random.between(-9, 0), highest: random.between(0, 9)))
        case 1: return .defineBucket(name, TokenBucket.Rate(capacity: random.between(1, 9), refill: 1))
        case 2: return .take(name, random.between(1, 4))
        default: return .add(name, by: random.between(-2, 3))
        }
    }

    private func encoded(_ action: Counters.Action) -> Call? {
        // An action of these few fields can always be encoded.
        (try? Counters.actionCoding.encoded(action)).map(Call.action)
    }

    private func read(_ query: Counters.Query, _ random: inout SplitMix64) -> Call? {
        let level: ReadLevel =
            switch random.next(below: 4) {
            case 0: .local
            case 1: .session
            default: .linearizable
            }
        return (try? Counters.queryCoding.encoded(query)).map { .read($0, level) }
    }

    // MARK: - Checks

    package func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable {
        guard let state = state as? ReactorState<PlacedCounters> else { return Counters.State() }
        return state.workingState.counters
    }

    package func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool {
        guard let state = remembered as? Counters.State, let query = try? Counters.queryCoding.decoded(query),
            let expected = try? Counters.answer(query, in: state),
            let found = try? Counters.answerCoding.decoded(answer)
        else { return false }
        return expected == found
    }

    package func findings(in history: [CallRecord], final: any Sendable) -> [Violation] {
        let judged = history.compactMap(Self.operation)
        let linearizable = judged.filter { $0.level == nil || $0.level == .linearizable }.map(\.operation)
        var found: [Violation] = []
        let verdict = CounterChecks.linearizability(linearizable, stepLimit: 2_000_000)
        if case .notLinearizable(let evidence) = verdict {
            found.append(Violation(.linearizability, "\(evidence)"))
        }
        // Beginnings are numbered, so they name the reads that ask for less.
        var guarantees: [Int64: ReadGuarantee] = [:]
        for call in judged {
            if call.level == .session { guarantees[call.operation.invoked] = .ownWrites }
            if call.level == .local { guarantees[call.operation.invoked] = .nothing }
        }
        let order = CounterChecks.positions(judged.map(\.operation)) {
            guarantees[$0.invoked] ?? .everythingReturned
        }
        found += order.findings.map { Violation(.linearizability, "\($0)") }
        let state = final as? Counters.State
        let finals = (0..<sums).map { ("a\($0)", state?.values["a\($0)"] ?? 0) }
        let bounds = CounterBounds().check(
            linearizable.filter { $0.input.key.hasPrefix("a") }, final: Dictionary(uniqueKeysWithValues: finals),
            isResolved: true)
        found += bounds.findings.map { Violation(.counterBounds, "\($0)") }
        return found
    }

    private typealias Judged = (operation: LockstepChecking.Operation<CounterCall, CounterOutput>, level: ReadLevel?)

    /// The record in the checkers' words; nil if it is not judged, or certainly was not done.
    private static func operation(_ record: CallRecord) -> Judged? {
        let input: CounterCall
        var level: ReadLevel?
        switch record.call {
        case .action(let bytes):
            // What cannot be decoded was written by nobody here.
            guard let action = try? Counters.actionCoding.decoded(bytes), let call = call(action) else { return nil }
            input = call
        case .read(let bytes, let asked):
            guard case .get(let name)? = try? Counters.queryCoding.decoded(bytes) else { return nil }
            input = CounterCall(name, .read)
            level = asked
        }
        var output: CounterOutput?
        switch record.outcome {
        case .pending, .unknown: if level != nil { return nil }
        case .answered(.committed, let bytes):
            guard case .value(let value)? = try? Counters.replyCoding.decoded(bytes) else { return nil }
            output = .value(value)
        case .answered(.rejected, _): output = .rejected
        case .answered: return nil
        case .read(let bytes):
            guard case .value(let value)? = try? Counters.answerCoding.decoded(bytes) else { return nil }
            output = value.map(CounterOutput.value) ?? .absent
        }
        let place =
            record.sequence > .zero
            ? LogPlace(epoch: record.epoch.rawValue, sequence: record.sequence.rawValue) : nil
        return (
            LockstepChecking.Operation(
                client: record.caller, number: nil, invoked: record.invoked, returned: record.returned, input: input,
                output: output, place: place), level
        )
    }

    private static func call(_ action: Counters.Action) -> CounterCall? {
        switch action {
        case .add(let name, let amount): isJudged(name) ? CounterCall(name, .add(amount)) : nil
        case .set(let name, let value): isJudged(name) ? CounterCall(name, .set(value)) : nil
        case .reset(let name): isJudged(name) ? CounterCall(name, .reset) : nil
        case .bound, .unbound, .defineBucket, .removeBucket, .take: nil
        }
    }

    private static func isJudged(_ name: String) -> Bool { name.hasPrefix("a") || name.hasPrefix("m") }
}

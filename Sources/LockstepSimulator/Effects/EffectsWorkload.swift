package import LockstepCore

/// The counters' workload with effects: runs under all policies, timers, sources and feedback beside the counters, which
/// are judged as ever.
package final class EffectsWorkload: Workload {
    private let base: CountersWorkload
    /// Of the calls, so many are about effects.
    private let share: Double
    /// The newest accepted actions, to be cancelled by reducers.
    private var accepted: [RunID] = []

    package init(share: Double, base: CountersWorkload = CountersWorkload()) {
        self.share = share
        self.base = base
    }

    package func makeState() -> any ReplicatedState { EffectState(base.makeState()) }

    // MARK: - Calls

    package func next(caller: Int, random: inout SplitMix64) -> Call? {
        guard random.chance(share) else { return base.next(caller: caller, random: &random) }
        return .action(action(&random).bytes)
    }

    private func action(_ random: inout SplitMix64) -> EffectAction {
        switch random.next(below: 100) {
        case 0..<58: return .start(script(&random))
        case 58..<63: return .cancelName(random.next(below: 3) + 1)
        case 63..<68:
            guard !accepted.isEmpty else { return .cancelName(1) }
            return .cancelRun(random.pick(accepted))
        case 68..<82:
            // Most are near; of equal deadlines the names decide.
            let after = random.chance(0.8) ? random.next(below: 4_000) : random.next(below: 8_000)
            return .setTimer(random.next(below: 8), after: after * 1_000)
        case 82..<86: return .cancelTimer(random.next(below: 8))
        case 86..<96: return .ask(random.next(below: 3))
        default: return .withdraw(random.next(below: 3))
        }
    }

    private func script(_ random: inout SplitMix64) -> EffectScript {
        var script = EffectScript(
            emissions: random.chance(0.2) ? 0 : random.next(below: 6), pace: random.chance(0.9) ? 200 : 2_000)
        script.pace = 1 + random.next(below: script.pace)
        script.fails = random.chance(0.15)
        script.isEager = random.chance(0.3)
        script.endsWhenResumed = random.chance(0.1)
        script.group = random.chance(0.4) ? 0 : random.next(below: UInt64(EffectGroup.all.count))
        script.name = random.chance(0.4) ? random.next(below: 3) + 1 : 0
        script.cancels = random.chance(0.1) ? random.next(below: 3) + 1 : 0
        script.cancelledAfter = random.chance(0.15) ? 1 + random.next(below: 800) : 0
        return script
    }

    package func cancelDelay(of action: [UInt8]) -> Int64? {
        guard case .start(let script)? = EffectAction(action), script.cancelledAfter > 0 else { return nil }
        return Int64(script.cancelledAfter) * Span.millisecond
    }

    // MARK: - Effects

    package var hasScriptedEffects: Bool { true }

    package func makeExecutor(_ port: any EffectPort, random: SplitMix64) -> (any EffectExecutor)? {
        ScriptedExecutor(port: port, random: random)
    }

    package func wasAccepted(_ id: RunID) {
        accepted.append(id)
        if accepted.count > 16 { accepted.removeFirst() }
    }

    package func isAtRest(_ state: any ReplicatedState) -> Bool {
        guard let state = state as? EffectState else { return true }
        return state.tables.timers.isEmpty && state.tables.requests.isEmpty
    }

    // MARK: - Checks

    package func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable {
        base.remember((state as? EffectState)?.base ?? state, at: head)
    }

    package func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool {
        base.isRight(answer, to: query, at: remembered)
    }

    package func findings(in history: [CallRecord], final: any Sendable) -> [Violation] {
        base.findings(in: history, final: final)
    }
}

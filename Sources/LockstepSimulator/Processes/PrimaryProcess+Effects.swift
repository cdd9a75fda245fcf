import LockstepCore

extension PrimaryProcess: EffectPort {
    var effectState: any ReplicatedState { state.base }
    var effectEpoch: Epoch { machine?.epoch ?? .zero }
    var virtualTime: Int64 { simulation.now }
    var isHealing: Bool { simulation.isHealed }

    var unfinishedRuns: [RunID] { machine?.log.runs.sorted.filter { $0.end == nil }.map(\.id) ?? [] }

    func committedRun(_ id: RunID) -> RunNote? { store.oracle.runs.runs[id] }

    func isEmission(_ cause: EffectCause, at sequence: SequenceNumber) -> Bool {
        store.oracle.runs.isEmission(cause, at: sequence)
    }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        guard isUp else { return }
        step { $0.emitted(cause, mutations: mutations, ticket: ticket, &$1) }
    }

    func finish(_ id: RunID, item: [UInt8]) {
        guard isUp else { return }
        step { $0.runFinished(id, item: item, &$1) }
    }

    func wake(after delay: Int64, token: UInt64) { mail(.effect(token), after: delay) }

    func note(_ event: EffectEvent, _ id: UInt64) {
        simulation.coverage.note(event)
        let number = EffectEvent.allCases.firstIndex(of: event) ?? 0
        simulation.trace(self.id, .effect, UInt64(number), id)
    }

    func fail(_ promise: Violation.Promise, _ text: String) { simulation.fail(promise, text) }
}

import LockstepCore

/// The effects of one reign of a data node: what their executor may do, and the executor itself.
final class ClusterEffectPort: EffectPort {
    private unowned let simulation: ClusterSimulation
    private unowned let node: ClusterNode
    private let state: any ReplicatedState
    private(set) var executor: (any EffectExecutor)?

    init(_ simulation: ClusterSimulation, _ node: ClusterNode, state: any ReplicatedState) {
        (self.simulation, self.node, self.state) = (simulation, node, state)
    }

    /// Without an executor nothing carries out effects.
    func use(_ executor: any EffectExecutor) { self.executor = executor }

    /// The process has taken an event.
    func turnEnded() { executor?.turnEnded() }

    /// The reign is over; whatever its effects still do counts for nothing.
    func end() {
        executor?.end()
        executor = nil
    }

    // MARK: - EffectPort

    var host: Int { node.index }
    var effectState: any ReplicatedState { state.unwrapped }
    var effectEpoch: Epoch { node.epoch ?? .zero }
    var virtualTime: Int64 { simulation.now }
    var isHealing: Bool { simulation.isHealed }
    var isMachineStopping: Bool { node.primary?.phase == .stopping }

    var unfinishedRuns: [RunID] { node.primary?.log.runs.sorted.filter { $0.end == nil }.map(\.id) ?? [] }
    func committedRun(_ id: RunID) -> RunNote? { simulation.answers.runs.runs[id] }

    func isEmission(_ cause: EffectCause, at sequence: SequenceNumber) -> Bool {
        simulation.answers.runs.isEmission(cause, at: sequence)
    }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        simulation.withPrimary(node) { $0.emitted(cause, mutations: mutations, ticket: ticket, &$1) }
    }

    func finish(_ id: RunID, item: [UInt8]) { simulation.withPrimary(node) { $0.runFinished(id, item: item, &$1) } }

    func wake(after delay: Int64, token: UInt64) {
        simulation.add(.effect(node, life: node.life, token: token), after: delay)
    }

    func note(_ event: EffectEvent, _ id: UInt64) {
        simulation.trace(node, .effect, UInt64(EffectEvent.allCases.firstIndex(of: event) ?? 0), id)
    }

    func fail(_ promise: Violation.Promise, _ text: String) { simulation.fail(promise, text) }
}

extension ClusterSimulation {
    /// Who won carries out effects, if the workload has any.
    func makeExecutor(of node: ClusterNode) {
        guard isSteered, let state = node.state else { return }
        let port = ClusterEffectPort(self, node, state: state)
        guard let executor = workload.makeExecutor(port, random: random.fork()) else { return }
        port.use(executor)
        node.effects = port
    }

    /// A wake-up that an executor asked for; one of an earlier reign finds nothing to do.
    func wakeEffects(of node: ClusterNode, token: UInt64) {
        guard let effects = node.effects else { return }
        effects.executor?.due(token)
        // By what it has brought, the reign may be over.
        guard node.effects === effects else { return }
        effects.turnEnded()
        // Its tasks may wait for a view.
        turnIsDue(of: node)
    }
}

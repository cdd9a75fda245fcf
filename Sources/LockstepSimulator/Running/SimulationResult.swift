import LockstepCore

/// How a run ended.
package struct SimulationResult: Sendable {
    package var options: SimulationOptions
    package var violation: Violation?
    package var coverage: Coverage
    /// Equal for two runs of the same options.
    package var traceHash: UInt64
    package var traceText: [String]
    package var steps: Int
    /// Nanoseconds.
    package var virtualTime: Int64
    package var calls: Int
    package var answered: Int
    package var unknown: Int
}

extension SimulationResult {
    /// Runs one seed to its end; the same seed and options give the same result in every process.
    package static func run(_ options: SimulationOptions, workload: (any Workload)? = nil) -> Self {
        func usual() -> any Workload {
            options.effects > 0 ? EffectsWorkload(share: options.effects) : CountersWorkload()
        }
        let simulation = Simulation(
            options, workloads: workload.map { [$0] } ?? (0..<options.stores).map { _ in usual() })
        let violation = simulation.run()
        return SimulationResult(
            options: options, violation: violation, coverage: simulation.coverage, traceHash: simulation.traceHash,
            traceText: violation == nil ? [] : simulation.traceText, steps: simulation.stepCount,
            virtualTime: simulation.virtualTime, calls: simulation.stores.reduce(0) { $0 + $1.history.records.count },
            answered: simulation.stores.reduce(0) { $0 + $1.history.answered },
            unknown: simulation.stores.reduce(0) { $0 + $1.history.unknown })
    }
}

import LockstepCore

/// How a run of a cluster of data nodes ended.
package struct ClusterResult: Sendable {
    package var options: ClusterOptions
    package var violation: Violation?
    package var fired: [ClusterFault: Int]
    package var counts: ClusterSimulation.Counts
    /// Equal for two runs of the same options.
    package var traceHash: UInt64
    package var traceText: [String]
    package var steps: Int
    /// Nanoseconds.
    package var virtualTime: Int64
    /// Actions that clients sent, and answers that they got, to actions and to reads.
    package var submitted: Int
    package var answered: Int
    package var reads: Int

    /// Runs one seed to its end; the same options give the same result in every process.
    package static func run(_ options: ClusterOptions) -> ClusterResult {
        let simulation = ClusterSimulation(options)
        simulation.run()
        let clients = simulation.clients
        return ClusterResult(
            options: options, violation: simulation.violation, fired: simulation.fired, counts: simulation.counts,
            traceHash: simulation.traceHash, traceText: simulation.violation == nil ? [] : simulation.traceText,
            steps: simulation.steps, virtualTime: simulation.now,
            submitted: clients.reduce(0) { $0 + Int($1.answeredBefore + $1.submitted) },
            answered: clients.reduce(0) { $0 + Int($1.answeredInAll) }, reads: clients.reduce(0) { $0 + $1.readCount })
    }
}

import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

/// A part of P11: how long it takes until all stores of a node that is killed answer again.
struct ManyStores {
    static let names = [Hosted.counters] + LabCommand.moreCounters
    /// How often the node is killed for each ten kills of the other parts.
    private static let share = 10

    let setting: BenchSetting

    /// The pauses from the signal to the answer of the last store, in seconds.
    ///
    /// `lockstep` has two stores, so the nodes run this program, which is made of the same code.
    func measure() async throws -> [Double] {
        try await BenchCluster.withDataNodes(
            setting, nodes: 3, minimum: 2, hosting: (ChildProcess.ownPath, Self.names)
        ) { nodes in
            let client = try Node(.client(of: nodes.endpoints), logger: Program.quiet)
            let stores = try Self.names.map { try client.remote(Counters.self, named: $0) }
            return try await client.whileRunning {
                var pauses: [Double] = []
                for number in 1...max(1, setting.sizes.kills / Self.share) {
                    setting.say("P11, primary of \(stores.count) stores killed: \(number)")
                    let index = (number - 1) % nodes.names.count
                    try await gather(at: index, nodes)
                    try await Self.increment(stores)
                    let start = ContinuousClock.now
                    nodes.end(index, signal: SIGKILL)
                    try await Self.increment(stores)
                    pauses.append((ContinuousClock.now - start) / .seconds(1))
                    try nodes.start(index)
                }
                for store in stores { try await store.checkSum(2 * pauses.count) }
                return pauses
            }
        }
    }

    /// Waits until all nodes are members of all stores, and gives all posts to one of them.
    private func gather(at index: Int, _ nodes: DataProcesses) async throws {
        for name in Self.names {
            let count = nodes.names.count
            let leader = try await nodes.waitForPrimary(of: name) { $0.inSync.count == count }
            guard leader != index else { continue }
            let arguments = [
                "cluster", "handover", "--data", nodes.node(leader).path, name, "--to", nodes.names[index],
            ]
            _ = try ChildProcess.output(setting.program, arguments)
        }
        for name in Self.names {
            let leader = try await nodes.waitForPrimary(of: name) { $0.inSync.count == nodes.names.count }
            guard leader == index else { throw CommandFailure("\(name) has not gone to \(nodes.names[index])") }
        }
    }

    /// Adds 1 in every store, and waits for the answer of the last.
    private static func increment(_ stores: [RemoteStore<Counters>]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask { @concurrent in
                    _ = try await store.send(.add("counter:1", by: 1), timeout: .seconds(60))
                }
            }
            try await group.waitForAll()
        }
    }
}

import LockstepCore
import LockstepNode
import Testing

/// What a data node has the arbiter say of itself, for who asks from another host.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ListedTroubleTests {
    private static func listed(_ index: Int, _ cluster: DataNodes) async throws -> NodeAddress? {
        try await cluster.arbiter.nodes(within: .seconds(1)).first { $0.node == cluster.names[index] }
    }

    /// An alarm is listed while it lasts: that of a primary that is low on room, since no other node has any either.
    @Test func anAlarmIsListedWhileItLasts() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { _ in
            let first = try await cluster.primary(with: 2)
            for disk in cluster.disks { disk.hasFree(1 << 20) }
            try await until {
                try await Self.listed(first, cluster)?.troubles.contains { $0.text.hasPrefix("DISK_FULL: ") } == true
            }
            let store = try await cluster.record.store
            #expect(try await Self.listed(first, cluster)?.troubles.map(\.store) == [store])
            for disk in cluster.disks { disk.hasFree(1 << 40) }
            try await until { try await Self.listed(first, cluster)?.troubles.isEmpty == true }
        }
        #expect(try await cluster.arbiter.nodes(within: .seconds(1)).isEmpty, "who stops in order says nothing")
    }

    /// A standby that knows to be committed what its primary lacks halts, and who asks sees why although it has ended.
    @Test func whoIsAheadIsListedAsHalted() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        // The first ends last, and leads then.
        try await cluster.running([1, 0]) { lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[0].port.add([1]) == [1])
            try await until {
                let (one, other) = (try await lives[0].port.status(), try await lives[1].port.status())
                return one.commit == other.commit && one.commit == one.sequence
            }
        }
        try await cluster.appendWhatCommitted(to: 0)
        let epoch = try await cluster.record.epoch
        try await cluster.running([1]) { lives in
            try await until { try await cluster.record.epoch > epoch }
            #expect(try await lives[0].port.add([2]) == [3])
            await #expect(throws: LockstepError.self) {
                try await cluster.running([0]) { _ in
                    try await until { try await Self.listed(0, cluster)?.halt != nil }
                }
            }
            let halt = try await Self.listed(0, cluster)?.halt
            #expect(halt?.hasPrefix("ahead: what sum knows to be committed, through ") == true, "\(halt ?? "nothing")")
        }
    }
}

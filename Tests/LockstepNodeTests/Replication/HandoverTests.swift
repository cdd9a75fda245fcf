import LockstepCore
import LockstepHarness
import LockstepNode
import Synchronization
import Testing

/// Running nodes that give their post away on an operator's order, and go on (PROTOCOL, R-90).
@Suite(.serialized, .timeLimit(.minutes(3))) struct HandoverTests {
    /// The post goes to and fro under load; the callers of all nodes lose nothing, and nothing is counted twice.
    @Test func thePostGoesToAndFroUnderLoad() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        try await cluster.running([0, 1, 2]) { lives in
            _ = try await cluster.primary(with: 3)
            let (isOver, answers) = (Flag(), Answers())
            let counts = try await withThrowingTaskGroup(of: UInt64.self) { group in
                for life in lives { group.addTask { try await Self.load(life, answers, until: isOver) } }
                defer { isOver.raise() }
                for round in 0..<20 {
                    let (old, new) = (round % 2, (round + 1) % 2)
                    try await until { try await lives[old].port.status().phase == .admitting }
                    let epoch = try await cluster.record.epoch
                    try await cluster.giveAway(lives[old], to: new)
                    let record = try await cluster.record
                    #expect(record.primary.member.node == cluster.names[new] && record.inSync.count >= 2)
                    #expect(record.epoch > epoch)
                    // The set is whole again before the next, and callers were answered.
                    _ = try await cluster.primary(with: 3, after: epoch)
                    let before = answers.count
                    try await until { answers.count >= before + 3 }
                }
                isOver.raise()
                return try await group.reduce(0, +)
            }
            #expect(counts >= 60)
            for (index, life) in lives.enumerated() {
                let sum = try await life.port.add([1])
                #expect(sum == [counts + UInt64(index) + 1])
            }
        }
    }

    /// Tells the load that it is enough.
    private final class Flag: Sendable {
        private let value = Atomic(false)
        var isRaised: Bool { value.load(ordering: .acquiring) }
        func raise() { value.store(true, ordering: .releasing) }
    }

    /// How many actions were answered, at all nodes.
    private final class Answers: Sendable {
        private let value = Atomic(0)
        var count: Int { value.load(ordering: .acquiring) }
        func add() { value.add(1, ordering: .releasing) }
    }

    /// Adds 1, again and again; each answer is above the one before.
    ///
    /// Returns how many were answered.
    private static func load(
        _ life: DataNodes.Life, _ answers: Answers, until isOver: Flag
    ) async throws -> UInt64 {
        var (count, last): (UInt64, UInt64) = (0, 0)
        while !isOver.isRaised {
            let sums = try await life.port.add([1])
            guard let sum = sums.first, sum > last else {
                Issue.record("\(sums) after \(last)")
                break
            }
            (count, last) = (count + 1, sum)
            answers.add()
        }
        return count
    }

    /// The old primary keeps its state and stays a member: its readers see no older state, and nothing is read anew.
    @Test func theOldPrimaryStaysAMemberWithItsState() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        try await cluster.running([0, 1, 2]) { lives in
            _ = try await cluster.primary(with: 3)
            #expect(try await lives[0].port.add([1, 2]) == [1, 3])
            let shown = lives[0].port.publishedSequence
            try await cluster.giveAway(lives[0], to: 2)
            #expect(try await cluster.record.inSync.count == 3)
            #expect(lives[0].port.publishedSequence >= shown)
            try await until { try await lives[0].port.status().phase == .live }
            #expect(try await lives[0].port.add([4]) == [7])
            let post = try await lives[0].node.post(of: "sum")
            #expect(!post.isPrimary && post.primary == cluster.names[2].name)
        }
    }

    /// A primary that is low on room, and so takes no actions, gives its post to a member that has room; it follows and
    /// stays a member.
    @Test func aPrimaryThatIsLowOnRoomGivesItsPostAway() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        try await cluster.running([0, 1, 2]) { lives in
            #expect(try await lives[0].port.add([1]) == [1])
            let first = try await cluster.primary(with: 3)
            let (next, last) = ((first + 1) % 3, (first + 2) % 3)
            let epoch = try await cluster.record.epoch
            cluster.disks[next].hasFree(1 << 20)
            cluster.disks[first].hasFree(1 << 20)
            #expect(try await lives[next].port.add([2]) == [3])
            let other = try await cluster.primary(with: 3, after: epoch)
            #expect(other == last, "one of the others has no room either")
            #expect(try await lives[first].port.add([4]) == [7])
            // Where nobody has room the post stays, and nothing is admitted; it goes to the first that has some.
            let later = try await cluster.record.epoch
            cluster.disks[last].hasFree(1 << 20)
            async let asked = lives[first].port.add([8])
            try await until { try await lives[last].port.status().alarms.contains { $0.kind == .diskFull } }
            cluster.disks[first].hasFree(nil)
            let back = try await cluster.primary(with: 3, after: later)
            #expect(back == first)
            #expect(try await asked == [15])
        }
    }

    /// A primary whose disk refuses what it was given gives its post to who has that, at once, and leaves the set.
    @Test func aPrimaryWithAFullDiskGivesItsPostAway() async throws {
        try await undisturbed {
            let cluster = try await DataNodes(3, minimum: 1)
            try await cluster.running([0, 1, 2]) { lives in
                #expect(try await lives[0].port.add([1]) == [1])
                let first = try await cluster.primary(with: 3)
                let (next, last) = ((first + 1) % 3, (first + 2) % 3)
                cluster.disks[first].lacksRoom(for: [.batches, .commit])
                async let asked = lives[last].port.add([2])
                try await until { cluster.disks[first].hasRefused(.batches) }
                // An error says that this node is the primary no more.
                let handover = try? await cluster.handOver(lives[first], to: next)
                #expect(try await asked == [3])
                let record = try await cluster.record
                // Later a member takes the post by itself.
                let isGiven = handover.map { $0.problem == nil && $0.milliseconds < 1_000 } ?? false
                try Disturbed.unless(
                    isGiven && record.primary.member.node == cluster.names[next],
                    "\(String(describing: handover)), and there is \(record)")
                #expect(!record.inSync.contains { $0.node == cluster.names[first] })
                cluster.disks[first].lacksRoom(for: [])
                _ = try await cluster.primary(with: 3)
                #expect(try await lives[first].port.add([4]) == [7])
            }
        }
    }

    /// Who is not there, or is no member, gets nothing: it is said at once, and the primary goes on.
    @Test func whoCannotTakeThePostIsRefused() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            for (target, text) in [
                (cluster.names[2].name, "node-2 is not another member"), (cluster.names[0].name, "not another member"),
                ("no name", "no node's name"),
            ] {
                await #expect { _ = try await lives[0].node.beginHandover(of: "sum", to: target) } throws: {
                    "\($0)".contains(text)
                }
            }
            await #expect { _ = try await lives[1].node.beginHandover(of: "sum", to: nil) } throws: {
                "\($0)".contains("this node is not the primary of sum: node-0 is")
            }
            await #expect { _ = try await lives[0].node.post(of: "other") } throws: { "\($0)".contains("no store") }
            #expect(try await lives[0].port.add([1]) == [1])
        }
    }

    /// A target whose disk does nothing does not take the post in time: the primary goes on, within a second.
    @Test func aTargetWithAStuckDiskTakesNothing() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1, 2]) { lives in
            _ = try await cluster.primary(with: 3)
            #expect(try await lives[0].port.add([1]) == [1])
            // What was added is on all disks, and nothing is under way.
            try await until { try await lives[1].port.status().commit == lives[0].port.status().sequence }
            try await cluster.whileStuck(1) {
                let handover = try await cluster.handOver(lives[0], to: 1)
                #expect(handover.problem != nil && handover.milliseconds < 2_500)
                #expect(try await lives[0].port.add([2]) == [3])
            }
            _ = try await cluster.primary(with: 3, after: .zero)
            #expect(try await lives[2].port.add([4]) == [7])
        }
    }

    /// A primary whose members are all well has no reason to look at the record: it goes by an operator's when another node
    /// is asked about the post (PROTOCOL, R-75, R-89).
    @Test func anOperatorsRecordIsTakenUp() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[0].port.add([1]) == [1])
            let stored = try #require(try await cluster.arbiter.record(of: "sum", within: .seconds(1)))
            let attempt = RecordAttempt(
                replacing: stored, with: stored.record.requiring(2, attempt: AttemptID(rawValue: 77)))
            guard case .applied = await cluster.arbiter.transact(attempt, on: "sum", within: .seconds(1)) else {
                Issue.record("nobody else writes the record")
                return
            }
            #expect(try await lives[0].node.post(of: "sum").minimum == 1)
            _ = try await lives[1].node.post(of: "sum", after: .record)
            try await until { try await lives[0].node.post(of: "sum").minimum == 2 }
            #expect(try await lives[0].node.post(of: "sum").isPrimary)
            #expect(try await lives[0].port.add([1]) == [2])
        }
    }
}

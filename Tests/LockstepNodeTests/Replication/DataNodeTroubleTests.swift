import LockstepCore
import LockstepHarness
import LockstepNode
import Synchronization
import Testing

/// Data nodes with full disks, with addresses that lead nowhere, and what ends with a reign (PROTOCOL, R-81, R-84, R-87, R-89).
@Suite(.serialized, .timeLimit(.minutes(3))) struct DataNodeTroubleTests {
    /// PROTOCOL R-87: a primary whose disk is full loses its post to one with room; it follows, and is a member again, when
    /// there is room.
    @Test func aPrimaryWithAFullDiskLosesItsPost() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1, 2]) { lives in
            let first = try await cluster.primary(with: 3, after: .zero)
            #expect(try await lives[first].port.add([1]) == [1])
            let epoch = try await cluster.record.epoch
            cluster.disks[first].lacksRoom(for: [.batches, .commit, .cut, .promise, .memory])
            async let asked = lives[first].port.add([2])
            let other = try await cluster.primary(with: 2, after: epoch)
            #expect(other != first)
            // What its disk refused the others have.
            #expect(try await asked == [3])
            #expect(try await lives[other].port.add([4]) == [7])
            try await until { cluster.disks[first].hasRefused(.commit) }
            cluster.disks[first].lacksRoom(for: [])
            _ = try await cluster.primary(with: 3, after: epoch)
            #expect(try await lives[first].port.add([8]) == [15])
            try await until { try await lives[first].port.status().phase == .live }
        }
    }

    /// PROTOCOL: what is of another history is cut off when there is room for it; what comes meanwhile waits.
    @Test func aCutWaitsForRoom() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([1]) { lives in
            try await cluster.running([0]) { first in
                _ = try await cluster.primary(with: 2)
                #expect(try await first[0].port.add([1]) == [1])
            }
            try await cluster.appendWhatNeverCommitted(to: 0)
            cluster.disks[0].lacksRoom(for: [.cut])
            try await cluster.running([0]) { again in
                try await until { cluster.disks[0].hasRefused(.cut) }
                #expect(try await lives[0].port.add([2]) == [3])
                #expect(try await again[0].port.add([4]) == [7])
                cluster.disks[0].lacksRoom(for: [])
                _ = try await cluster.primary(with: 2)
                try await until { try await again[0].port.status().phase == .live }
            }
        }
    }

    /// PROTOCOL: a primary's journal has what the arbiter has shown, and when nothing is written any more also
    /// what is committed.
    @Test func aPrimaryKeepsWhatItLearns() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[0].port.add([1]) == [1])
            let number = try await cluster.record.number
            try await until {
                let known = cluster.disks[0].arbitration
                let committed = try await lives[0].port.status().commit
                return known?.arbiter.number == number && known?.committed.rawValue == committed
            }
        }
    }

    /// PROTOCOL R-5: below its minimum a store whose other member has lost its disk opens its epoch with that one's help.
    @Test func aLostDiskBlocksNoOpening() async throws {
        var cluster = try await DataNodes(2, minimum: 2)
        try await cluster.running([0, 1]) { [cluster] lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[0].port.add([1]) == [1])
        }
        let record = try await cluster.record
        let reigned = try #require(cluster.names.firstIndex(of: record.primary.member.node))
        await cluster.loseDisk(1 - reigned)
        try await cluster.shortenJournal(of: reigned)
        try await cluster.running([0, 1]) { [cluster] lives in
            let lost = record.inSync.first { $0.node == cluster.names[1 - reigned] }
            try await until {
                let now = try await cluster.record
                return now.primary.member.node == cluster.names[reigned] && now.epoch > record.epoch
                    && now.inSync.contains { $0.node == lost?.node && $0 != lost }
            }
            #expect(try await lives[1 - reigned].port.add([2]) == [3])
            #expect(try await lives[reigned].port.add([4]) == [7])
        }
    }

    /// Notes when effects may begin, and when they are over.
    private final class Watcher: RunExecutor {
        let notes = Mutex<[Bool]>([])

        func run(port: StorePort) async {}
        func opened() { notes.withLock { $0.append(true) } }
        func closed() { notes.withLock { $0.append(false) } }
        func begin(_ run: RunStart) {}
        func stop(_ id: RunID) {}
        func emission(_ ticket: UInt64, _ outcome: EmissionOutcome) {}
        func runEnd(_ id: RunID, _ outcome: EmissionOutcome) {}
        func ended() {}
    }

    /// PROTOCOL: effects end with the reign in which they began; the next reign of the node begins them once.
    @Test func effectsEndWithTheReign() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        let watcher = Watcher()
        try await cluster.running([0, 1], executor: watcher) { lives in
            _ = try await cluster.primary(with: 2)
            try await until { watcher.notes.withLock { $0 } == [true] }
            let epoch = try await cluster.record.epoch
            cluster.disks[0].lacksRoom(for: [.batches])
            async let asked = lives[0].port.add([2])
            _ = try await cluster.primary(with: 1, after: epoch)
            #expect(try await asked == [2])
            cluster.disks[0].lacksRoom(for: [])
            try await until { watcher.notes.withLock { $0 } == [true, false] }
            let second = try await cluster.primary(with: 2, after: epoch)
            #expect(second == 1)
            let later = try await cluster.record.epoch
            cluster.disks[1].lacksRoom(for: [.batches])
            async let more = lives[1].port.add([4])
            _ = try await cluster.primary(with: 1, after: later)
            #expect(try await more == [6])
            try await until { watcher.notes.withLock { $0 } == [true, false, true] }
        }
    }

    /// PROTOCOL: actions that take 3 s together cost no heartbeat: a turn takes some of them.
    ///
    /// Most come from the primary's own callers, the others from those of another node. 1,024 of them are a frame, 41 ms
    /// of work, and a turn takes two of them: a node with a tenth of a core keeps the post, too.
    @Test func actionsThatTakeLongCostNoPost() async throws {
        try await undisturbed {
            let cluster = try await DataNodes(3, minimum: 2, cost: .microseconds(40))
            try await cluster.running([0, 1, 2]) { lives in
                _ = try await cluster.primary(with: 3)
                let epoch = try await cluster.record.epoch
                let (most, others) = ([UInt8](repeating: 1, count: 60_000), [UInt8](repeating: 1, count: 15_000))
                async let own = lives[0].port.add(most, width: 63, timeout: .seconds(150))
                async let other = lives[1].port.add(others, width: 63, timeout: .seconds(150))
                let sums = try await own + other
                #expect(sums.sorted() == Array(1...75_000))
                let later = try await cluster.record.epoch
                try Disturbed.unless(later == epoch, "\(later) comes after \(epoch)")
            }
        }
    }

    /// Notes which emissions are committed, in their order, and how many are not.
    private final class Emissions: RunExecutor {
        private let notes = Mutex((committed: [UInt64](), others: 0))

        var committed: [UInt64] { notes.withLock { $0.committed } }
        var count: Int { notes.withLock { $0.committed.count + $0.others } }

        func run(port: StorePort) async {}
        func opened() {}
        func closed() {}
        func begin(_ run: RunStart) {}
        func stop(_ id: RunID) {}
        func emission(_ ticket: UInt64, _ outcome: EmissionOutcome) {
            notes.withLock { notes in
                if case .committed = outcome { notes.committed.append(ticket) } else { notes.others += 1 }
            }
        }
        func runEnd(_ id: RunID, _ outcome: EmissionOutcome) {}
        func ended() {}
    }

    /// PROTOCOL: what effects bring at once, over 2 s of work together, costs no heartbeat: a turn takes
    /// some of it, in its order.
    @Test func emissionsThatTakeLongCostNoPost() async throws {
        try await undisturbed {
            let cluster = try await DataNodes(3, minimum: 1, cost: .microseconds(250))
            let emissions = Emissions()
            try await cluster.running([0, 1, 2], executor: emissions) { lives in
                let first = try await cluster.primary(with: 3)
                try Disturbed.unless(first == 0, "another node reigns")
                let epoch = try await cluster.record.epoch
                try await until {
                    if try await lives[0].port.status().phase == .admitting { return true }
                    return try await cluster.record.epoch != epoch
                }
                let tickets = Array(1...UInt64(9_000))
                for ticket in tickets { lives[0].port.emit(.source("many"), mutations: [1, 1, 1], ticket: ticket) }
                try await until {
                    if emissions.count == tickets.count { return true }
                    return try await cluster.record.epoch != epoch
                }
                let later = try await cluster.record.epoch
                try Disturbed.unless(later == epoch, "\(later) comes after \(epoch)")
                #expect(emissions.committed == tickets)
            }
        }
    }

    /// An address that leads nowhere is a hint like any other.
    @Test func anAddressThatLeadsNowhereEndsNothing() async throws {
        let cluster = try await DataNodes(1, minimum: 1)
        for (index, endpoint) in ["tcp://127.0.0.1:65534", "tcp://no-such-host.invalid:7000"].enumerated() {
            let node = try #require(NodeID("ghost-\(index)"))
            let address = NodeAddress(node: node, boot: BootID(rawValue: 9), endpoints: [endpoint], journals: [])
            _ = try await cluster.arbiter.register(address, within: .seconds(1))
        }
        try await cluster.running([0]) { lives in
            let sums = try await lives[0].port.add([1])
            #expect(sums == [1])
        }
    }

    /// PROTOCOL R-10: what another data node says on a channel of no store is counted, and the node goes on.
    @Test func aChannelOfNoStoreIsCounted() async throws {
        let cluster = try await DataNodes(1, minimum: 1)
        try await cluster.running([0]) { lives in
            _ = try await cluster.primary(with: 1)
            let endpoint = try TCPEndpoint(cluster.endpoints[0], use: "a test")
                .advanced(by: NodeServices.replicationOffset).description
            let strange = FrameStamp(channel: Channel(rawValue: 77), clusterHash: cluster.cluster.hash, epoch: .zero)
            let known = FrameStamp(channel: Channel(rawValue: 7), clusterHash: cluster.cluster.hash, epoch: .zero)
            let peer = try RawPeer(endpoint, isDataNode: true)
            let request = Message.replicationRequest(.recordRequest(nonce: 5))
            try peer.send(strange.frame(request))
            guard case .replicationReply(.record)? = try peer.ask(known.frame(request)) else {
                return #expect(Bool(false), "a RECORD")
            }
            #expect(try await lives[0].node.status().stores[0].counters["frames_refused"] == 1)
        }
    }

    /// PROTOCOL: what a listed node tells a primary that asks it is its word if it is of the same cluster,
    /// and is counted if it is not.
    @Test(arguments: [true, false]) func aPrimaryTakesTheWordOfItsClusterOnly(isOfCluster: Bool) async throws {
        let cluster = try await DataNodes(1, minimum: 1)
        let place = try TCPEndpoint("tcp://127.0.0.1:\(FreePorts.next())", use: "a test")
        let ghost = NodeAddress(
            node: try #require(NodeID("ghost")), boot: BootID(rawValue: 9), endpoints: [place.description])
        try await cluster.running([0]) { lives in
            _ = try await cluster.primary(with: 1)
            let node = lives[0].node
            try await until { try await node.post(of: "sum").isPrimary }
            let hash = cluster.cluster.hash
            let stamp = FrameStamp(
                channel: Channel(rawValue: 7), clusterHash: isOfCluster ? hash : ~hash, epoch: .zero)
            let report = RecordReport(
                nonce: 1, highest: Epoch(rawValue: 1), log: .empty(of: cluster.disks[0].identity.store),
                shown: ArbiterMemory(), leads: false, record: nil)
            let frame = stamp.frame(.replicationReply(.record(report)))
            let peer = try RawDataNode(place)
            var (told, refused) = (0, UInt64(0))
            while told == 0, refused == 0 {
                try Task.checkCancellation()
                // Its lease ends, and the list is read every two seconds.
                _ = try await cluster.arbiter.register(ghost, within: .seconds(1))
                _ = try await node.post(of: "sum", after: .nodes)
                try peer.answer(with: frame)
                told = try await node.post(of: "sum").reports.count
                refused = try await node.status().stores[0].counters["frames_refused"] ?? 0
            }
            #expect((told > 0) == isOfCluster && (refused > 0) != isOfCluster)
        }
    }

    /// PROTOCOL R-82: a promise whose withdrawal found no room stays, whatever lower one comes after it.
    @Test func aLowerPromiseChangesNothing() {
        var facts = JournalArbitration(adopted: .start(of: StoreID(rawValue: 9)))
        facts.promise(Epoch(rawValue: 9))
        facts.promise(Epoch(rawValue: 5))
        #expect(facts.promised == Epoch(rawValue: 9))
        facts.promise(nil)
        #expect(facts.promised == nil)
    }
}

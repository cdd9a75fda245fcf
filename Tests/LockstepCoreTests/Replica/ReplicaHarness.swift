import LockstepCore
import Testing

/// A replica's machine with its state, a publisher, and a driver that does what the directives say.
final class ReplicaHarness {
    var publisher: TestPublisher
    var machine: ReplicaStateMachine
    let state = CountingState()
    var now = Tick(rawValue: 5_000_000_000)
    /// Everything that was directed, in order.
    var trace: [ReplicaDirective] = []
    /// Frames of the replica for the publisher's bulk socket that were not delivered yet.
    var requests: [[UInt8]] = []
    var journal: [SealedBatch] = []

    init(
        _ publisher: TestPublisher = TestPublisher(), hasJournal: Bool = false, seed: UInt64 = 1,
        recovered: (log: LogState, window: ResendWindow, sum: UInt64)? = nil, joinBufferBytes: Int = 1 << 20,
        largestSnapshotBytes: UInt64 = 1 << 30, channel: Channel? = nil, isBesideStandby: Bool = false,
        buggify: Buggify = .off
    ) {
        self.publisher = publisher
        var configuration = ReplicaConfiguration(
            storeName: publisher.storeName, node: "replica", cluster: channel == nil ? nil : publisher.cluster,
            boot: BootID(rawValue: 0xAA), incarnation: Incarnation(rawValue: 0xAB), channel: channel,
            hasJournal: hasJournal,
            bulkEndpoint: "tcp://replica:3", seed: seed, largestSnapshotBytes: largestSnapshotBytes,
            buggify: buggify)
        configuration.isBesideStandby = isBesideStandby
        machine = ReplicaStateMachine(
            configuration: configuration, recovered: recovered?.log, window: recovered?.window ?? ResendWindow(),
            joinBufferBytes: joinBufferBytes)
        state.sum = recovered?.sum ?? 0
    }

    /// Runs one event, records its directives, checks the machine, and returns them.
    @discardableResult
    func event(_ body: (inout ReplicaStateMachine, inout [ReplicaDirective]) -> Void) -> [ReplicaDirective] {
        var directives: [ReplicaDirective] = []
        body(&machine, &directives)
        machine.checkInvariants()
        trace += directives
        for directive in directives {
            switch directive {
            case .sendBulk(let frame): requests.append(frame)
            case .applied(let batches): journal += batches
            case .installed, .discarded: journal = []
            default: break
            }
        }
        return directives
    }

    @discardableResult
    func welcome() -> [ReplicaDirective] {
        event { machine, directives in
            machine.welcomed(
                publisher.welcome, endpoint: "tcp://primary:1", now: now, state: state, into: &directives)
        }
    }

    @discardableResult
    func broadcast(_ frame: [UInt8]) -> [ReplicaDirective] {
        event { machine, directives in
            withBytes(of: frame) { machine.broadcastReceived($0, now: now, state: state, into: &directives) }
        }
    }

    @discardableResult
    func broadcast(_ batch: SealedBatch) -> [ReplicaDirective] { broadcast(publisher.frame(batch)) }

    @discardableResult
    func beacon() -> [ReplicaDirective] { broadcast(publisher.beacon) }

    @discardableResult
    func bulk(_ frame: [UInt8]) -> [ReplicaDirective] {
        event { machine, directives in
            withBytes(of: frame) { machine.bulkReceived($0, now: now, state: state, into: &directives) }
        }
    }

    @discardableResult
    func tick(after milliseconds: Int64 = 0) -> [ReplicaDirective] {
        now = now.advanced(byMilliseconds: milliseconds)
        return event { machine, directives in machine.ticked(now: now, state: state, into: &directives) }
    }

    /// Ticks at every deadline until `milliseconds` have passed, with a beacon every 100 ms unless told not to.
    func pass(_ milliseconds: Int64, beacons: Bool = true, settling: Bool = true) {
        let end = now.advanced(byMilliseconds: milliseconds)
        var nextBeacon = now.advanced(byMilliseconds: 100)
        while now < end {
            now = min(end, max(now, min(machine.nextDeadline, nextBeacon)))
            tick()
            if now >= nextBeacon {
                nextBeacon = nextBeacon.advanced(byMilliseconds: 100)
                if beacons { beacon() }
            }
            if settling { settle() }
        }
    }

    /// Decodes the snapshots that these directives name.
    @discardableResult
    func prepare(_ directives: [ReplicaDirective]) -> [ReplicaDirective] {
        var result: [ReplicaDirective] = []
        for case .prepare(let ticket, let content) in directives {
            result += event { machine, directives in
                do {
                    let prepared = try state.prepare(content.bytes)
                    machine.snapshotPrepared(ticket, prepared, now: now, state: state, into: &directives)
                } catch {
                    machine.snapshotRefused(ticket, now: now, into: &directives)
                }
            }
        }
        return result
    }

    /// Delivers requests and answers until nobody has anything to say.
    func settle() {
        var rounds = 0
        while !requests.isEmpty {
            rounds += 1
            precondition(rounds < 10_000, "the conversation turns in a circle")
            let request = requests.removeFirst()
            for answer in publisher.answer(request, now: now) { prepare(bulk(answer)) }
            if publisher.isSnapshotWanted { publisher.makeSnapshot(now: now) }
        }
    }

    /// Joins and becomes live.
    func join() {
        welcome()
        beacon()
        settle()
        pass(1_000)
        #expect(machine.phase == .live)
        expectSame()
    }

    /// The messages that wait for the publisher, decoded.
    func takeRequests() -> [Message] {
        defer { requests = [] }
        return requests.compactMap(decoded)
    }

    func takeSync() -> Sync? {
        for case .sync(let sync) in takeRequests() { return sync }
        return nil
    }

    /// Answers a SYNC with a plan of the test's own.
    @discardableResult
    func plan(_ decision: SyncDecision, for sync: Sync?) -> [ReplicaDirective] {
        let plan = SyncPlan(
            nonce: sync?.nonce ?? 0, commit: publisher.log.position, boot: publisher.boot, decision: decision)
        return bulk(publisher.stamp.frame(.syncPlan(plan)))
    }

    func count(_ counter: ProtocolCounter) -> Int { trace.count { $0 == .count(counter) } }

    /// The replica has the publisher's log, sessions and state.
    func expectSame(sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(machine.log.position == publisher.log.position, sourceLocation: sourceLocation)
        #expect(Self.fingerprint(machine.log) == Self.fingerprint(publisher.log), sourceLocation: sourceLocation)
        #expect(state.sum == publisher.state.sum, sourceLocation: sourceLocation)
    }

    var isAtHead: Bool { machine.log.position == publisher.log.position }

    /// A hash over all that a snapshot says of a log; comparing the values themselves takes long where replies are many.
    static func fingerprint(_ log: LogState) -> UInt128 {
        sha256Prefix(SnapshotContent(log: log, digest: .none, state: []).encoded())
    }
}

extension [ReplicaDirective] {
    var phases: [ReplicaPhase] {
        compactMap { if case .phaseChanged(let phase) = $0 { phase } else { nil } }
    }

    var alarms: [Alarm] {
        compactMap { if case .alarm(let alarm) = $0 { alarm } else { nil } }
    }

    var applied: [SealedBatch] {
        flatMap { directive -> [SealedBatch] in
            if case .applied(let batches) = directive { batches } else { [] }
        }
    }

    var subscriptions: Int { count { if case .subscribe = $0 { true } else { false } } }
}

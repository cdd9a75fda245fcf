import LockstepCore

/// A replica that joins: whatever the frames say, it keeps its invariants, and what it puts in place is the whole
/// snapshot that the plan named (PROTOCOL, R-31 to R-36).
enum ReplicaTarget {
    enum Step: UInt8, CaseIterable {
        /// A frame on the stream, or on the bulk link; its header is made right.
        case broadcast, bulk
        /// The plan that was asked for, with a decision of the input's.
        case plan
        /// A snapshot of the input's bytes is offered, a chunk of it comes.
        case offer, chunk
        /// Entries as the next batch of the log, on the stream.
        case batch
        /// Time passes.
        case tick
        /// A frame of a client, or of another joiner.
        case ingress, join
        case linkLost, welcome
    }

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        var replica = FuzzedReplica(checks: checks)
        replica.welcome(epoch: Golden.epoch)
        var steps = 0
        while !input.isAtEnd, steps < 24 {
            steps += 1
            switch Step(rawValue: input.byte() % UInt8(Step.allCases.count)) ?? .tick {
            case .broadcast: try replica.receive(frame(&input), on: .broadcast)
            case .bulk: try replica.receive(frame(&input), on: .bulk)
            case .plan: try replica.plan(input.block())
            case .offer: try replica.offer(input.block(), keepsPlace: input.byte() & 1 != 0)
            case .chunk: try replica.chunk(index: Int(input.byte()), change: input.byte())
            case .batch: try replica.batch(input.block())
            case .tick: try replica.tick(milliseconds: Int64(input.byte()) * 20)
            case .ingress: try replica.receive(frame(&input), on: .ingress)
            case .join: try replica.receive(frame(&input), on: .join)
            case .linkLost: replica.linkLost()
            case .welcome:
                replica.welcome(epoch: Epoch(rawValue: Golden.epoch.rawValue &+ UInt64(input.byte()) &- 2))
            }
            replica.machine.checkInvariants()
            _ = replica.machine.nextDeadline
        }
        // A log whose last batch could not be applied is half changed, and a replica that halted gives it to nobody.
        guard replica.machine.phase != .halted else { return }
        try LogWalk.walk(replica.machine.log, checks)
    }

    private static func frame(_ input: inout FuzzInput) -> [UInt8] {
        var frame = input.block()
        repairFrame(&frame, keepsCluster: false)
        return frame
    }
}

/// A replica's machine with what it needs around it.
private struct FuzzedReplica {
    enum Link { case broadcast, bulk, ingress, join }

    let checks: Checks
    var machine: ReplicaStateMachine
    let state = FuzzState()
    var now = Tick(rawValue: 5_000_000_000)
    /// The nonce of the newest SYNC.
    var nonce: UInt64 = 0
    /// The snapshot that was offered last.
    var offered: EncodedSnapshot?

    init(checks: Checks) {
        self.checks = checks
        machine = ReplicaStateMachine(
            configuration: ReplicaConfiguration(
                storeName: Golden.storeName, node: "replica", cluster: Golden.cluster, boot: BootID(rawValue: 0xAA),
                incarnation: Incarnation(rawValue: 0xAB), channel: nil, hasJournal: false, bulkEndpoint: "tcp://r:3",
                seed: 1, largestSnapshotBytes: 1 << 20), joinBufferBytes: 1 << 14)
    }

    mutating func welcome(epoch: Epoch) {
        var directives: [ReplicaDirective] = []
        let welcome = Welcome(
            nonce: 1, cluster: Golden.cluster, role: .primary, isVolatile: false, node: "node",
            incarnation: Golden.incarnation, boot: Golden.boot, channel: Golden.channel, store: Golden.store,
            commit: Position(epoch: epoch, sequence: .zero, hash: BatchHash(rawValue: Golden.store.rawValue)),
            publishEndpoint: "tcp://a:2", bulkEndpoint: "tcp://a:3", primaryEndpoint: "", creditActions: 1,
            creditBytes: 1, largestAction: 1)
        machine.welcomed(welcome, endpoint: "tcp://a:1", now: now, state: state, into: &directives)
        note(directives)
    }

    mutating func linkLost() {
        var directives: [ReplicaDirective] = []
        machine.linkLost(now: now, into: &directives)
        note(directives)
    }

    mutating func tick(milliseconds: Int64) throws(FuzzFinding) {
        now = now.advanced(byMilliseconds: milliseconds)
        var directives: [ReplicaDirective] = []
        machine.ticked(now: now, state: state, into: &directives)
        try follow(directives)
    }

    mutating func receive(_ frame: [UInt8], on link: Link) throws(FuzzFinding) {
        var directives: [ReplicaDirective] = []
        let connection = Connection(rawValue: 1)
        withBytes(of: frame) { span in
            switch link {
            case .broadcast: machine.broadcastReceived(span, now: now, state: state, into: &directives)
            case .bulk: machine.bulkReceived(span, now: now, state: state, into: &directives)
            case .ingress:
                machine.ingressReceived(span, from: connection, now: now, state: state, into: &directives)
            case .join: machine.joinReceived(span, from: connection, now: now, state: state, into: &directives)
            }
        }
        try follow(directives)
    }

    /// A plan for the SYNC that was asked last, whose bytes after the nonce are the input's.
    mutating func plan(_ bytes: [UInt8]) throws(FuzzFinding) {
        var frame = FrameHeader(
            channel: Golden.channel, kind: .syncPlan, clusterHash: Golden.cluster.hash, epoch: Golden.epoch
        ).frame { writer in
            writer.write(nonce)
            writer.writeRaw(bytes)
        }
        repairFrame(&frame, keepsCluster: true)
        try receive(frame, on: .bulk)
    }

    /// Offers the bytes as a snapshot: with the place that they name, if they can be read, or with another.
    mutating func offer(_ bytes: [UInt8], keepsPlace: Bool) throws(FuzzFinding) {
        var log = LogState(store: Golden.store)
        var digest = Digest.none
        // What cannot be read is offered all the same.
        if keepsPlace, let content = try? SnapshotContent(bytes) {
            log = content.log
            digest = content.digest
        }
        guard !bytes.isEmpty else { return }
        let snapshot = EncodedSnapshot(number: 9, bytes: bytes, log: log, digest: digest, chunkBytes: 1_024)
        offered = snapshot
        let plan = SyncPlan(
            nonce: nonce, commit: log.position, boot: log.boot, decision: .snapshot(snapshot.info))
        try receive(Golden.stamp.frame(.syncPlan(plan)), on: .bulk)
    }

    /// A chunk of the snapshot that was offered, with one byte changed if `change` is not 0.
    mutating func chunk(index: Int, change: UInt8) throws(FuzzFinding) {
        guard let offered else { return }
        let index = index % offered.info.chunkCount
        guard var frame = offered.frame(of: index, stamp: Golden.stamp) else { return }
        if change != 0 {
            frame[frame.count - 1] ^= change
            repairFrame(&frame, keepsCluster: true)
        }
        try receive(frame, on: .bulk)
    }

    /// The entries as the batch that follows the log, and a beacon of its end.
    mutating func batch(_ entries: [UInt8]) throws(FuzzFinding) {
        let position = machine.log.position
        let first = position.sequence.next
        let head = BatchHead(
            store: Golden.store, epoch: Golden.epoch, first: first, last: first, time: machine.log.time,
            previous: position.hash)
        var writer = ByteWriter()
        head.write(to: &writer)
        writer.writeRaw(entries)
        let bytes = writer.bytes
        let frame = withBytes(of: bytes) { Golden.stamp.frame(.batch(0..<bytes.count, isHeadOnly: false), source: $0) }
        try receive(frame, on: .broadcast)
    }

    private mutating func note(_ directives: [ReplicaDirective]) {
        for case .sendBulk(let frame) in directives {
            withBytes(of: frame) { span in
                // It was written by the machine itself.
                guard let sent = try? Message.decode(span, rule: .any), case .sync(let sync) = sent.message else {
                    return
                }
                nonce = sync.nonce
            }
        }
    }

    /// Does what a driver does: decodes a snapshot's state, and tells the machine.
    private mutating func follow(_ directives: [ReplicaDirective]) throws(FuzzFinding) {
        note(directives)
        for directive in directives {
            switch directive {
            case .prepare(let ticket, let content):
                var next: [ReplicaDirective] = []
                if let prepared = try? state.prepare(content.bytes) {
                    machine.snapshotPrepared(ticket, prepared, now: now, state: state, into: &next)
                } else {
                    machine.snapshotRefused(ticket, now: now, into: &next)  // The bytes are no state.
                }
                note(next)
                try check(next)
            default: break
            }
        }
        try check(directives)
    }

    private func check(_ directives: [ReplicaDirective]) throws(FuzzFinding) {
        for case .installed(let log, let digest, _) in directives {
            try checks.same(offered?.info.position, log.position, "the place of a snapshot that was put in place")
            try checks.holds(
                offered?.info.digest == digest && state.digest + log.digest == digest,
                "a snapshot was put in place with another digest")
        }
    }
}

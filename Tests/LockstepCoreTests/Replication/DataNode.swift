import LockstepCore

/// A data node of a ``DataCluster``: its disk, which outlives its process, and the machine of its role.
///
/// The state follows what the kept log knows to be committed, as a replica beside a standby does.
final class DataNode {
    /// What waits for the disk, in order; what is not done when the process ends is lost.
    enum Write {
        case batches([SealedBatch], committed: SequenceNumber)
        case truncate(Position)
        case promise(Epoch)
    }

    enum Role {
        case down
        case standby(StandbyStateMachine)
        case primary(PrimaryStateMachine)
    }

    struct Disk {
        var batches: [SealedBatch] = []
        var committed = SequenceNumber.zero
        var promised = Epoch.zero
        var memory = ArbiterMemory()
    }

    let name: NodeID
    var incarnation = Incarnation(rawValue: 1)
    var boot = BootID(rawValue: 0)
    var disk = Disk()
    var role = Role.down
    var writes: [Write] = []
    /// Until when the process does nothing.
    var pausedUntil = Tick.zero
    /// Until when the disk does nothing.
    var stuckUntil = Tick.zero
    var state = CountingState()
    /// What the state has applied; of a standby everything that it knows to be committed.
    var applied = LogState(store: DataCluster.store)
    var nextHeartbeat = Tick.zero
    /// To whom its socket for streams connects, again and again by itself.
    var dials: Int?

    init(_ index: Int) {
        guard let name = NodeID("node-\(index)") else { preconditionFailure("a name") }
        self.name = name
        incarnation = Incarnation(rawValue: UInt128(index + 1) << 64 | 1)
    }

    var member: Member { Member(node: name, incarnation: incarnation) }
    var isUp: Bool { if case .down = role { false } else { true } }

    var standby: StandbyStateMachine? { if case .standby(let machine) = role { machine } else { nil } }
    var primary: PrimaryStateMachine? { if case .primary(let machine) = role { machine } else { nil } }

    var place: ConfigurationRecord.Primary {
        ConfigurationRecord.Primary(member: member, boot: boot, endpoints: [name.name])
    }

    /// Begins as a standby with what the disk has.
    func open(seed: UInt64, now: Tick) -> [StandbyDirective] {
        writes = []
        state = CountingState()
        applied = LogState(store: DataCluster.store)
        var window = ResendWindow()
        var ends: [EpochEnd] = []
        for batch in disk.batches {
            window.append(batch)
            if let opened = batch.openedBy {
                ends.append(
                    EpochEnd(epoch: batch.head.epoch, boot: opened, sequence: batch.head.last, hash: batch.hash))
            } else {
                ends[ends.count - 1].sequence = batch.head.last
                ends[ends.count - 1].hash = batch.hash
            }
        }
        let log = KeptLog(
            store: DataCluster.store, end: disk.batches.last?.position ?? .start(of: DataCluster.store),
            epochEnds: ends, committed: disk.committed, window: window)
        let stamp = FrameStamp(
            channel: DataCluster.channel, clusterHash: DataCluster.cluster.hash, epoch: .zero)
        var machine = StandbyStateMachine(
            .init(election: .init(candidate: place), stamp: stamp, seed: seed), log: log, promised: disk.promised,
            memory: disk.memory, now: now)
        var directives: [StandbyDirective] = []
        machine.start(into: &directives)
        role = .standby(machine)
        apply(through: disk.committed, from: log.window)
        return directives
    }

    /// Lets the state follow what is committed and on the disk.
    func apply(through end: SequenceNumber, from window: ResendWindow) {
        while applied.position.sequence < end, let batch = window.batch(containing: applied.position.sequence.next),
            batch.head.last <= end
        {
            do { _ = try applied.apply(batch, to: state) } catch { preconditionFailure("cannot be applied: \(error)") }
            state.capture(at: batch.head.last, epoch: batch.head.epoch, time: batch.head.time)
            state.publish(through: batch.head.last)
        }
    }

    /// Does the next write on the disk; the machine is told by the cluster.
    func write() -> Write? {
        guard !writes.isEmpty else { return nil }
        let write = writes.removeFirst()
        switch write {
        case .batches(let batches, let committed):
            if let first = batches.first {
                precondition(first.head.previous == (disk.batches.last?.hash ?? DataCluster.startHash), "no holes")
            }
            disk.batches += batches
            disk.committed = max(disk.committed, committed)
        case .truncate(let position):
            disk.batches.removeAll { $0.head.last > position.sequence }
            precondition(disk.committed <= position.sequence, "what is committed is never cut")
        case .promise(let epoch): disk.promised = epoch
        }
        return write
    }
}

import LockstepCore

/// A data node of a simulated cluster: its disk, which outlives its process, and the machine of its role.
///
/// ``shown`` follows what the kept log knows to be committed, as the replica beside a standby does. The states are those of
/// the run's workload.
final class ClusterNode {
    /// What waits for the disk, in order; what is not done when the process ends is lost.
    enum Write {
        case batches([SealedBatch], committed: SequenceNumber)
        case truncate(Position)
        case promise(Epoch)
        case replace(Shown)
    }

    /// A place of the log, with the state there as a snapshot has it; nil: it is ``ClusterNode/shownState``, or empty.
    struct Shown {
        var log: LogState
        var state: [UInt8]?
    }

    struct Disk {
        /// What the journal begins with: a snapshot, or nothing.
        var base: Shown
        var batches: [SealedBatch] = []
        var committed = SequenceNumber.zero
        var promised = Epoch.zero
        var memory = ArbiterMemory()

        var end: Position { batches.last?.position ?? base.log.position }

        /// The hash at this end of a batch, if there is one.
        func hash(at sequence: SequenceNumber) -> BatchHash? {
            if base.log.position.sequence == sequence { return base.log.position.hash }
            guard let index = index(after: sequence), index > 0, batches[index - 1].head.last == sequence else {
                return nil
            }
            return batches[index - 1].hash
        }

        /// The index of the first batch that ends after `sequence`, or the count; nil before the base.
        func index(after sequence: SequenceNumber) -> Int? {
            guard sequence >= base.log.position.sequence else { return nil }
            var (low, high) = (0, batches.count)
            while low < high {
                let middle = (low + high) / 2
                if batches[middle].head.last <= sequence { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    let index: Int
    let name: NodeID
    var incarnation: Incarnation
    /// Counts the lives of the process: what was meant for an earlier one is dropped.
    var life = 0
    var boot = BootID(rawValue: 0)
    var disk: Disk
    var standby: StandbyStateMachine?
    var primary: PrimaryStateMachine?
    var writes: [Write] = []
    /// The disk is at the first of ``writes``.
    var isWriting = false
    /// When the write that is under way began.
    var writeBegan = Tick.never
    /// Written, and not told yet.
    var told: [Write] = []
    private(set) var pausedUntil: Int64 = 0
    private(set) var stuckUntil: Int64 = 0
    /// Nobody refuses a connection to it: its host is gone, too.
    var isHostDead = false
    /// The working state of a primary.
    var state: (any ReplicatedState)?
    /// What carries out the effects of a primary's reign.
    var effects: ClusterEffectPort?
    var shown: Shown
    /// Everything that is committed is shown through it; of ``shown``.
    private(set) var shownState: any ReplicatedState
    /// Why a state cannot be written to a snapshot, or read from one.
    private(set) var unreadable: String?
    private let makeState: () -> any ReplicatedState
    /// Whom it follows, and whose connection its streams use.
    var followed: ConfigurationRecord.Primary?
    var dials: Int?
    /// When its machine is to be ticked.
    var tickAt = Int64.max
    var isTurnDue = false
    var rate = 1.0
    var wallOffset: Int64 = 0
    /// Who stopped in order comes up again.
    var isStopping = false
    /// Somebody has killed it, and nobody but that one starts it again.
    var staysDown = false
    /// Its host is gone, until an operator brings it back.
    var isGone = false
    /// An older copy of its disk was put back.
    var hasOlderDisk = false

    init(_ index: Int, name: String, store: StoreID, makeState: @escaping () -> any ReplicatedState) {
        guard let name = NodeID(name) else { preconditionFailure("a name") }
        (self.index, self.name, self.makeState) = (index, name, makeState)
        incarnation = Incarnation(rawValue: UInt128(index + 1) << 64 | 1)
        shown = Shown(log: LogState(store: store))
        shownState = makeState()
        disk = Disk(base: shown)
    }

    var member: Member { Member(node: name, incarnation: incarnation) }
    // What is asked often is read in place, since a copy of a machine costs more than most events.
    // To compare with nil is to copy.
    /// The epoch of its reign.
    var epoch: Epoch? { inPlace(&primary) { $0?.epoch } }
    var isPrimary: Bool { epoch != nil }
    var isStandby: Bool { inPlace(&standby) { $0?.phase } != nil }
    var isUp: Bool { isStandby || isPrimary }
    /// When its machine wants a tick.
    var nextDeadline: Tick {
        inPlace(&primary) { $0?.nextDeadline } ?? inPlace(&standby) { $0?.nextDeadline } ?? .never
    }
    var place: ConfigurationRecord.Primary {
        ConfigurationRecord.Primary(member: member, boot: boot, endpoints: [name.name])
    }

    /// The process is gone.
    func end() {
        (standby, primary) = (nil, nil)
        endReign()
        (writes, told, isWriting, writeBegan) = ([], [], false, .never)
        (followed, dials, tickAt, isTurnDue, isStopping, pausedUntil) = (nil, nil, .max, false, false, 0)
        life += 1
    }

    /// Stands still until then, or longer if it does so already.
    func pause(until time: Int64) { pausedUntil = max(pausedUntil, time) }

    /// Its disk does nothing until then, or longer if it does so already.
    func stick(until time: Int64) { stuckUntil = max(stuckUntil, time) }

    func goOn() { (pausedUntil, stuckUntil) = (0, 0) }

    /// It is no primary any more: its effects end.
    func endReign() {
        effects?.end()
        (effects, state) = (nil, nil)
    }

    // MARK: - The log

    /// What the disk has, as a standby keeps it.
    func keptLog(windowBytes: Int) -> KeptLog {
        let base = disk.base.log
        var kept = KeptLog(
            store: base.store, end: base.position, epochEnds: base.allEpochEnds, committed: base.position.sequence,
            window: ResendWindow(capacity: windowBytes))
        for batch in disk.batches {
            do { try kept.append(batch) } catch { preconditionFailure("what was written follows: \(error)") }
        }
        kept.wrote(through: kept.end.sequence)
        kept.committed(through: disk.committed)
        return kept
    }

    /// Goes back to what the disk knows to be committed.
    func recover() {
        shown = Shown(log: disk.base.log)
        shownState = restored(disk.base.state)
        show(through: disk.committed)
    }

    /// What it shows, as a snapshot; nil if the state cannot be written.
    func snapshot() -> Shown? {
        do { return Shown(log: shown.log, state: try shownState.image().encoded()) } catch {
            unreadable = "\(name) cannot write its state: \(error)"
            return nil
        }
    }

    /// Who wins goes on from what it shows.
    func beginReign() { state = restored(snapshot()?.state) }

    private func restored(_ bytes: [UInt8]?) -> any ReplicatedState {
        let state = makeState()
        guard let bytes else { return state }
        do { state.install(try state.prepare(bytes)) } catch {
            unreadable = "\(name) cannot read a state that was written: \(error)"
        }
        return state
    }

    /// Lets what is shown follow what is committed and on the disk; returns why that is impossible.
    @discardableResult
    func show(through end: SequenceNumber) -> LogState.ApplyError? {
        guard var index = disk.index(after: shown.log.position.sequence) else { return nil }
        while index < disk.batches.count, disk.batches[index].head.last <= end {
            if let error = show(disk.batches[index]) { return error }
            index += 1
        }
        return nil
    }

    func show(_ batch: SealedBatch) -> LogState.ApplyError? {
        do {
            _ = try shown.log.apply(batch, to: shownState)
            return nil
        } catch { return error }
    }

    /// Does what was asked of the disk first.
    func write(_ write: Write) {
        switch write {
        case .batches(let batches, let committed):
            if let first = batches.first {
                precondition(first.head.previous == disk.end.hash, "no holes")
            }
            disk.batches += batches
            disk.committed = max(disk.committed, min(committed, disk.end.sequence))
        case .truncate(let position):
            precondition(disk.committed <= position.sequence, "what is committed is never cut")
            while let last = disk.batches.last, last.head.last > position.sequence { disk.batches.removeLast() }
        case .promise(let epoch): disk.promised = epoch
        case .replace(let snapshot):
            disk.base = snapshot
            disk.batches = []
            disk.committed = max(disk.committed, snapshot.log.position.sequence)
        }
    }
}

extension LogState {
    /// The ends of all epochs, of which the last is where the log ends now.
    var allEpochEnds: [EpochEnd] {
        guard position.sequence > .zero else { return [] }
        return epochEnds
            + [EpochEnd(epoch: position.epoch, boot: boot, sequence: position.sequence, hash: position.hash)]
    }
}

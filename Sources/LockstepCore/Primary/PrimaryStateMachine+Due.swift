// What log time brings (PROTOCOL, R-65).

extension PrimaryStateMachine {
    /// Only a planted defect fires timers by another clock than log time.
    private static var isByWallClock: Bool {
        #if LOCKSTEP_PLANTED_DEFECTS
            return PlantedDefect.isActive(.timersByWallClock)
        #else
            return false
        #endif
    }

    /// What the state waits for, if log time has reached it.
    mutating func emitDue(now: Tick, wall: LogTime, state: any ReplicatedState) {
        guard let due = state.nextDue, phase == .admitting, admits else {
            nextDue = .never
            return
        }
        let isByWallClock = Self.isByWallClock
        let time = isByWallClock ? wall : max(log.time, clock.read(now: now, wall: wall))
        guard due <= time, dueHeld <= now else {
            let wait = due.rawValue.subtractingReportingOverflow(time.rawValue)
            // A look at the latest in a minute: the clock may run at another rate meanwhile.
            let microseconds = wait.overflow ? Int64(60_000_000) : min(max(wait.partialValue, 100), 60_000_000)
            nextDue = max(dueHeld, now.advanced(byMicroseconds: microseconds))
            return
        }
        var writer = ByteWriter()
        var isBatchOlder = false
        let (count, isFull) = withOpenBatch(now: now, wall: wall) { batch in
            let stamp = ReduceStamp(epoch: batch.head.epoch, sequence: batch.nextSequence, time: batch.head.time)
            // The open batch may be older than the moment; the next one is not.
            isBatchOlder = due > stamp.time && !isByWallClock
            guard !isBatchOlder else { return (0, false) }
            let count = state.performDue(at: isByWallClock ? wall : stamp.time, context: stamp, into: &writer)
            guard count > 0 else { return (0, false) }
            withBytes(of: writer.bytes) {
                _ = batch.append(.emitted(cause: .time, mutations: 0..<$0.byteCount), source: $0)
            }
            return (count, batch.isFull)
        }
        if isFull { seal(now: now, wall: wall, state: state) }
        // A reducer that leaves a timer in place must not fill the log with it.
        let isStuck = count > 0 ? isDueAgain(due, count, writer.bytes, state) : !isBatchOlder
        dueHeld =
            isStuck ? now.advanced(byMilliseconds: 1_000) : isBatchOlder ? now.advanced(byMilliseconds: 1) : .zero
        nextDue = max(dueHeld, now)
    }

    /// Whether what was due, and was just emitted, is due once more: all of it was offered, or the same as before.
    private mutating func isDueAgain(
        _ due: LogTime, _ count: Int, _ mutations: [UInt8], _ state: any ReplicatedState
    ) -> Bool {
        precondition(mutations.count <= Limits.actionBytes, "what time brings fits an entry (R-12)")
        let before = fullDue
        fullDue = nil
        guard let next = state.nextDue, next <= due else { return false }
        guard count >= Limits.dueMutations else { return true }
        // More of the same time may be left.
        let hash = sha256Prefix(mutations)
        fullDue = hash
        return before == hash
    }
}

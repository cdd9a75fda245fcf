// What log time brings (PROTOCOL, R-65).

extension PrimaryStateMachine {
    /// What the state waits for, if log time has reached it.
    mutating func emitDue(_ step: inout PrimaryStep) {
        guard let expected = step.state.nextDue, phase == .admitting, admits else { return due.waitForNothing() }
        let time = max(log.time, clock.read(now: step.now, wall: step.wall))
        guard expected <= time, !due.isHeld(now: step.now) else {
            return due.wait(expected, at: time, now: step.now)
        }
        var writer = ByteWriter()
        var isBatchOlder = false
        let (count, isFull) = withOpenBatch(at: step.moment) { batch in
            let stamp = ReduceStamp(epoch: batch.head.epoch, sequence: batch.nextSequence, time: batch.head.time)
            // The open batch may be older than the moment; the next one is not.
            isBatchOlder = expected > stamp.time
            guard !isBatchOlder else { return (0, false) }
            let count = step.state.performDue(at: stamp.time, context: stamp, into: &writer)
            guard count > 0 else { return (0, false) }
            withBytes(of: writer.bytes) {
                _ = batch.append(.emitted(cause: .time, mutations: 0..<$0.byteCount), source: $0)
            }
            return (count, batch.isFull)
        }
        if isFull { seal(&step) }
        precondition(writer.count <= Limits.actionBytes, "what time brings fits an entry (R-12)")
        // A reducer that leaves a timer in place must not fill the log with it.
        var isStuck = !isBatchOlder
        if count > 0 {
            let isDueAgain = step.state.nextDue.map { $0 <= expected } ?? false
            isStuck = due.emitted(isDueAgain: isDueAgain, count: count, writer.bytes)
        }
        due.hold(milliseconds: isStuck ? 1_000 : isBatchOlder ? 1 : 0, now: step.now)
    }
}

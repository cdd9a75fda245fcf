import LockstepCore

/// All calls of a run, in the order of their beginning, and what became of them.
struct CallHistory {
    private(set) var records: [CallRecord] = []
    private(set) var answered = 0
    private(set) var unknown = 0
    /// Reads and actions that were certainly not done: never submitted, or refused.
    private(set) var forgotten = 0

    subscript(index: Int) -> CallRecord {
        get { records[index] }
        set { records[index] = newValue }
    }

    /// The number of the last beginning or end.
    private(set) var order: Int64 = 0

    mutating func begin(_ call: Call, caller: Int) -> Int {
        order += 1
        records.append(CallRecord(caller: caller, call: call, invoked: order))
        return records.count - 1
    }

    mutating func answer(
        _ index: Int, _ outcome: CallRecord.Outcome, epoch: Epoch, sequence: SequenceNumber
    ) {
        order += 1
        records[index].outcome = outcome
        records[index].epoch = epoch
        records[index].sequence = sequence
        records[index].returned = order
        answered += 1
    }

    /// Its outcome will never be known.
    mutating func lost(_ index: Int) {
        records[index].outcome = .unknown
        unknown += 1
    }

    /// It was certainly without effect: a read without an answer, an action without a number.
    mutating func forget(_ index: Int) {
        records[index].outcome = .answered(.void, [])
        forgotten += 1
    }

    /// What nobody learned is looked up in the log: it took effect, or it never did.
    mutating func resolve(_ find: (SessionID, RequestNumber) -> Oracle.Reply?) {
        for index in records.indices where records[index].outcome == .unknown || records[index].outcome == .pending {
            guard let reply = find(records[index].session, records[index].number) else { continue }
            records[index].outcome = .answered(reply.status, reply.bytes)
            records[index].epoch = reply.epoch
            records[index].sequence = reply.sequence
        }
    }
}

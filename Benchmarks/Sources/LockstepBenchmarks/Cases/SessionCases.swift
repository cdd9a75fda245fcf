import LockstepCore

/// The session table: replies of runs are kept, and dropped when their owner says that it has them.
///
/// The owner is four runs behind, so the table keeps four; a batch that is applied does the same.
enum SessionCases {
    static let all: [Case] = [
        keeping("sessions/runs-of-256", actions: 256, runs: 64),
        keeping("sessions/runs-of-1", actions: 1, runs: 4_096),
    ]

    static func session(_ number: Int) -> SessionID {
        SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: UInt64(number + 2)))
    }

    static func table(sessions count: Int) -> SessionTable {
        var table = SessionTable()
        for number in 0..<count {
            let open = Open(
                client: ClientKey(rawValue: UInt128(number + 1)), nonce: 1, timeToLive: 60_000_000,
                windowNumbers: Limits.windowNumbers, windowBytes: 1 << 20)
            table.open(session(number), open)
        }
        return table
    }

    private static func keeping(_ name: String, actions: Int, runs: Int) -> Case {
        let baseline = Baseline("append") { meter in
            let items = try FrameCases.replyItems(actions)
            var kept: [UInt8] = []
            while meter.goesOn {
                kept.removeAll(keepingCapacity: true)
                meter.measure(actions * runs) { for _ in 0..<runs { kept.append(contentsOf: items) } }
                keep(kept)
            }
        }
        return Case(name, unit: "reply", rounds: 40, baseline: baseline) { meter in
            let items = try FrameCases.replyItems(actions)
            var table = table(sessions: 64)
            var next: RequestNumber = 1
            while meter.goesOn {
                meter.measure(actions * runs) {
                    for _ in 0..<runs {
                        keepRun(of: actions, at: next, items, in: &table)
                        next += UInt64(actions)
                    }
                }
            }
        }
    }

    private static func keepRun(
        of count: Int, at first: RequestNumber, _ items: [UInt8], in table: inout SessionTable
    ) {
        // Not the sequence number after the last run, so that runs of one are not joined.
        let run = ReplyRing.Series(
            first: first, count: count, epoch: Epoch(rawValue: 1),
            firstSequence: SequenceNumber(rawValue: 2 * first), byteCount: items.count)
        let behind = 4 * UInt64(count)
        let isKept = withBytes(of: items) { bytes in
            table.append(
                run, to: session(0), ackedThrough: first > behind ? first - 1 - behind : 0, items: bytes,
                0..<bytes.byteCount)
        }
        precondition(isKept, "the numbers follow each other")
    }
}

import DequeModule
import LockstepCore

/// What a session keeps of replies, as the log tells it, against the window that it was granted (PROTOCOL, R-24).
///
/// The primary counts a little more: what it takes to find the replies, and those of a series that is acknowledged in
/// part.
struct SessionWindow: Hashable {
    private let numbers: Int
    private let bytes: Int
    private var acknowledged: RequestNumber = 0
    /// The sizes of the replies after the acknowledged number.
    private var sizes: Deque<Int> = []
    private var sum = 0

    /// Actions whose answers the owner has not acknowledged.
    var count: Int { sizes.count }

    init(_ open: Open) {
        numbers = Int(open.windowNumbers)
        bytes = Int(open.windowBytes)
    }

    /// The owner has the answers up to this number; the log never says that of a number that it does not have.
    mutating func acknowledge(through number: RequestNumber) {
        while acknowledged < number, let first = sizes.popFirst() {
            sum -= first
            acknowledged += 1
        }
    }

    /// Keeps the reply to the next number; false if the window was full before it.
    mutating func add(_ size: Int) -> Bool {
        defer {
            sizes.append(size)
            sum += size
        }
        return sizes.count < numbers && sum <= bytes
    }
}

extension Oracle {
    /// A session acknowledges in a batch; what it acknowledges was answered, and so committed, before.
    func acknowledged(through number: RequestNumber, of session: SessionID, in batch: SealedBatch) {
        sessions[session]?.window.acknowledge(through: number)
        guard number > 0 else { return }
        guard let reply = replies[ReplyKey(session: session, number: number)] else {
            return fail(.committedOnly, "\(session) acknowledges \(number) at \(batch.head.last), before it has it")
        }
        if reply.sequence >= batch.head.first {
            fail(.committedOnly, "\(session) acknowledges \(number) in the batch that brings it")
        }
    }

    /// A primary hears an acknowledgement, and refuses it or not: above what has committed it must.
    func acknowledged(
        through number: RequestNumber, of session: SessionID, isRefused: Bool, by process: PrimaryProcess
    ) {
        guard isOfPresent(process), let standing = sessions[session], number > standing.last, !isRefused else { return }
        fail(
            .committedOnly,
            "\(process.name) hears that \(session) acknowledges \(number), which has \(standing.last) in the log")
    }

    /// No name has more actions in flight than its quota, and one for each further session.
    func checkQuotas(at sequence: SequenceNumber) {
        guard !quotas.isEmpty else { return }
        var open: [String: (actions: Int, sessions: Int)] = [:]
        for session in sessions.values where !session.isOver {
            guard let sender = session.sender else { continue }
            open[sender, default: (0, 0)].actions += session.window.count
            open[sender, default: (0, 0)].sessions += 1
        }
        for (name, quota) in quotas {
            let (actions, count) = open[name] ?? (0, 0)
            let most = quota + max(0, count - 1)
            if actions > most {
                fail(.boundedMemory, "\(name) has \(actions) actions in flight at \(sequence), and may have \(most)")
            }
        }
    }

    /// The reply to a session's next number is kept.
    func kept(_ size: Int, of session: SessionID, at sequence: SequenceNumber) {
        if sessions[session]?.window.add(size) == false {
            fail(.boundedMemory, "an action of \(session) at \(sequence) does not fit the session's window")
        }
    }
}

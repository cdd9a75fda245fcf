package import LockstepCore

/// What right clients did with their sessions, as they did it; the log may have nothing else of them (PROTOCOL R-20,
/// R-28, R-29).
///
/// A session's ID may come again in a history that an operator chose, so the client's key belongs to it.
package struct Ownership {
    private var owners: [ClientKey: Deeds] = [:]

    private struct Deeds {
        /// The last number that was submitted in each session.
        var submitted: [SessionID: RequestNumber] = [:]
        var givenUp: [SessionID: [ClosedRange<RequestNumber>]] = [:]
        var hasClosed = false
        /// The name that the access list has for it; nil in a cluster without keys.
        let name: String?
    }

    package init() {}

    /// From here on this client's sessions are judged; `name` is what an access list has for it, if there is one.
    package mutating func began(_ client: ClientKey, named name: String? = nil) {
        owners[client] = owners[client] ?? Deeds(name: name)
    }

    /// Whether the log may name this opener of a right client's session; anybody of a client that is none.
    package func mayBeOpened(_ client: ClientKey, by sender: String?) -> Bool {
        owners[client].map { $0.name == sender } ?? true
    }

    package mutating func submitted(_ client: ClientKey, _ session: SessionID, through number: RequestNumber) {
        owners[client]?.submitted[session] = number
    }

    package mutating func gaveUp(_ client: ClientKey, _ session: SessionID, _ numbers: ClosedRange<RequestNumber>) {
        owners[client]?.givenUp[session, default: []].append(numbers)
    }

    package mutating func closed(_ client: ClientKey) { owners[client]?.hasClosed = true }

    /// The last number that a right client submitted; nil if this is not one's.
    package func lastSubmitted(_ client: ClientKey, _ session: SessionID) -> RequestNumber? {
        owners[client].map { $0.submitted[session] ?? 0 }
    }

    package func mayBeVoid(_ client: ClientKey, _ session: SessionID, _ number: RequestNumber) -> Bool {
        guard let deeds = owners[client] else { return true }
        return deeds.givenUp[session]?.contains { $0.contains(number) } == true
    }

    package func mayClose(_ client: ClientKey) -> Bool { owners[client]?.hasClosed ?? true }
}

extension Oracle {
    /// Numbers of a session are in the log: their owner submitted them.
    func checkOwner(of session: SessionID, _ standing: Standing, through last: RequestNumber) {
        guard let submitted = ownership.lastSubmitted(standing.client, session), last > submitted else { return }
        fail(.ownership, "\(last) of \(session) is logged, and its owner submitted \(submitted) at most")
    }

    func checkOpener(of session: SessionID, _ open: Open, _ sender: String?) {
        guard !ownership.mayBeOpened(open.client, by: sender) else { return }
        fail(.ownership, "\(session) was opened by \(sender ?? "nobody"), says the log, and that is not its owner")
    }

    func checkVoid(_ session: SessionID, _ standing: Standing, _ number: RequestNumber) {
        guard !ownership.mayBeVoid(standing.client, session, number) else { return }
        fail(.ownership, "\(number) of \(session) is logged as void, and its owner did not give it up")
    }

    func checkClose(of session: SessionID) {
        guard let standing = sessions[session], !ownership.mayClose(standing.client) else { return }
        fail(.ownership, "\(session) is closed, and its owner did not ask for that")
    }

    /// A node sends something of a session, or of its runs: never to the rogue, unless the session is its own (R-29).
    func checkTold(of session: SessionID, _ connection: Connection, by process: NodeProcess) {
        guard simulation.network.owner(of: connection) is RogueProcess, !rogueSessions.contains(session) else { return }
        fail(.ownership, "\(process.name) tells the rogue of \(session), which is another's")
    }

    // MARK: - Answers about sessions

    /// RESUMED names the number that comes next: after what has committed, and not beyond what was submitted.
    func check(_ resumed: Resumed, _ process: NodeProcess) {
        guard isOfPresent(process) else { return }
        guard let standing = sessions[resumed.session] else {
            return fail(.committedOnly, "\(process.name) resumes \(resumed.session), which is not in the log")
        }
        let submitted = ownership.lastSubmitted(standing.client, resumed.session) ?? .max - 1
        guard resumed.expected > standing.last, resumed.expected <= submitted + 1 else {
            return fail(
                .sessionOrder,
                "\(process.name) expects \(resumed.expected) of \(resumed.session), which has \(standing.last) in the log "
                    + "and submitted \(submitted)")
        }
    }

    /// QUERY_RESULT says of a number what the log says of it.
    func check(_ result: QueryResult, _ process: NodeProcess) {
        guard isOfPresent(process) else { return }
        let isAnswered = replies[ReplyKey(session: result.session, number: result.number)] != nil
        let standing = sessions[result.session]
        let isRight =
            switch result.status {
            case .pending: !isAnswered
            case .acknowledged: isAnswered || result.number == 0
            // An older copy may have given its epoch the number of one that it forgot (R-27).
            case .sessionEnded: standing?.isOver ?? (hasForked && isInLog(result.session))
            case .sessionUnknown: standing == nil
            }
        guard !isRight else { return }
        let log = standing.map { "ends at \($0.last)\($0.isOver ? ", and is over" : "")" } ?? "is not in the log"
        fail(
            .replyStability,
            "\(process.name) says \(result.status) of \(result.number) of \(result.session), which \(log)")
    }

    /// The mark that a beacon names is the last one of the log that it names.
    func checkMark(of beacon: Beacon, _ process: NodeProcess) {
        guard let known = batches[beacon.commit.hash] else { return }
        let (sequence, digest) = (known.print.mark?.sequence ?? .zero, known.print.mark?.digest ?? .none)
        guard beacon.markSequence != sequence || beacon.markDigest != digest else { return }
        fail(
            .digest,
            "\(process.name) broadcasts the mark \(beacon.markDigest) of \(beacon.markSequence); at "
                + "\(beacon.commit.sequence) the log has \(digest) of \(sequence)")
    }
}

import LockstepCore

/// A primary as small as the rules allow: one session table, answers that are a function of session and number.
///
/// It keeps every reply for ever, commits when it is told to, and can forget its connections as a restart does.
struct ModelPrimary {
    struct Session {
        var openNonce: UInt64
        var connection: Int
        /// The action of each number; nil if it is void.
        var logged: [UInt8?] = []
        var sequences: [UInt64] = []
        var committed = 0
        var ackedThrough: RequestNumber = 0
        var isOutOfOrderSaid = false
    }

    static let cluster = ClusterID(rawValue: 0xC1 << 120)
    var boot = BootID(rawValue: 1)
    var incarnation = Incarnation(rawValue: 1)
    var isVolatile = false
    var role = NodeRole.primary
    var primaryEndpoint = ""
    var isBusy = false
    var creditActions: UInt32 = 1_000
    var sequence: UInt64 = 1
    var peers: Set<Int> = []
    var sessions: [SessionID: Session] = [:]
    var expired: Set<SessionID> = []
    var epoch = Epoch(rawValue: 5)
    var stamp: FrameStamp { FrameStamp(channel: Channel(rawValue: 3), clusterHash: Self.cluster.hash, epoch: epoch) }

    func welcome(nonce: UInt64) -> Welcome {
        Welcome(
            nonce: nonce, cluster: Self.cluster, role: role, isVolatile: isVolatile, node: "p",
            incarnation: incarnation, boot: boot, channel: Channel(rawValue: 3), store: StoreID(rawValue: 9),
            commit: Position(epoch: epoch, sequence: SequenceNumber(rawValue: sequence), hash: .none),
            publishEndpoint: "", bulkEndpoint: "", primaryEndpoint: primaryEndpoint, creditActions: creditActions,
            creditBytes: 1 << 16, largestAction: 1 << 20)
    }

    /// The reply to an action of one byte; what a test expects is computed in the same way.
    static func reply(_ session: SessionID, _ number: RequestNumber, _ action: UInt8) -> [UInt8] {
        [UInt8(truncatingIfNeeded: session.sequence.rawValue), UInt8(truncatingIfNeeded: number), action]
    }

    mutating func received(_ frame: [UInt8], from connection: Int) -> [[UInt8]] {
        withBytes(of: frame) { span in
            guard let (_, message) = try? Message.decode(span, rule: .member(Self.cluster.hash)) else { return [] }
            if case .hello(let hello) = message {
                peers.insert(connection)
                return [stamp.frame(.welcome(welcome(nonce: hello.nonce)))]
            }
            guard peers.contains(connection) else { return [stamp.frame(.resync)] }
            switch message {
            case .open(let open): return opened(open, connection)
            case .resume(let resume): return resumed(resume, connection)
            case .submit(let submit): return submitted(submit, span, connection)
            case .close(let id):
                sessions[id] = nil
                expired.insert(id)
                return [stamp.frame(.closed(id))]
            case .keepAlive(let keepAlive):
                guard sessions[keepAlive.session] != nil else { return [missing(keepAlive.session)] }
                return []
            default: return []
            }
        }
    }

    private mutating func opened(_ open: Open, _ connection: Int) -> [[UInt8]] {
        let id: SessionID
        if let known = sessions.first(where: { $0.value.openNonce == open.nonce }) {
            id = known.key
            sessions[id]?.connection = connection
        } else {
            sequence += 1
            id = SessionID(epoch: epoch, sequence: SequenceNumber(rawValue: sequence))
            sessions[id] = Session(openNonce: open.nonce, connection: connection)
        }
        let opened = Opened(
            nonce: open.nonce, session: id, timeToLive: open.timeToLive, windowNumbers: open.windowNumbers,
            windowBytes: open.windowBytes)
        return [stamp.frame(.opened(opened))]
    }

    private func missing(_ id: SessionID) -> [UInt8] {
        stamp.frame(expired.contains(id) ? .sessionExpired(id) : .sessionUnknown(id))
    }

    private mutating func resumed(_ resume: Resume, _ connection: Int) -> [[UInt8]] {
        guard let session = sessions[resume.session], session.openNonce == resume.openNonce else {
            return [missing(resume.session)]
        }
        sessions[resume.session]?.connection = connection
        let resumed = Resumed(
            session: resume.session, connectionNonce: resume.connectionNonce,
            expected: UInt64(session.logged.count) + 1)
        return [stamp.frame(.resumed(resumed))]
            + results(resume.session, from: resume.ackedThrough + 1, through: UInt64(session.committed))
    }

    /// The facts of a session without its arrays.
    private func standing(
        of id: SessionID
    ) -> (connection: Int, committed: Int, last: UInt64, ackedThrough: UInt64, isOutOfOrderSaid: Bool)? {
        sessions[id].map {
            ($0.connection, $0.committed, UInt64($0.logged.count), $0.ackedThrough, $0.isOutOfOrderSaid)
        }
    }

    private mutating func submitted(_ submit: Submit, _ frame: RawSpan, _ connection: Int) -> [[UInt8]] {
        guard let session = standing(of: submit.session) else { return [missing(submit.session)] }
        guard session.connection == connection else { return [stamp.frame(.resync)] }
        precondition(submit.ackedThrough <= UInt64(session.committed), "acknowledged what was never answered")
        sessions[submit.session]?.ackedThrough = max(session.ackedThrough, submit.ackedThrough)
        let expected = session.last + 1
        guard submit.first <= expected else {
            guard !session.isOutOfOrderSaid else { return [] }
            sessions[submit.session]?.isOutOfOrderSaid = true
            return [stamp.frame(.outOfOrder(submit.session, expected: expected))]
        }
        let last = submit.first + UInt64(submit.count) - 1
        let kept = results(submit.session, from: submit.first, through: min(last, UInt64(session.committed)))
        guard last >= expected else { return kept }
        if isBusy {
            let busy = Busy(session: submit.session, expected: expected, retryAfter: 2_000, reason: .overloaded)
            return kept + [stamp.frame(.busy(busy))]
        }
        // Taken out, so that its arrays are not copied for each action.
        guard var changed = sessions.removeValue(forKey: submit.session) else { return kept }
        changed.isOutOfOrderSaid = false
        var reader = ByteReader(offset: submit.actions.lowerBound, end: submit.actions.upperBound)
        for number in submit.first...last {
            var action: UInt8?
            if !submit.isVoid {
                guard let range = try? reader.readRange(from: frame), range.count == 1 else {
                    preconditionFailure("the frame does not hold its actions")
                }
                action = copyBytes(of: frame, range)[0]
            }
            guard number >= expected else { continue }
            sequence += 1
            changed.logged.append(action)
            changed.sequences.append(sequence)
        }
        sessions[submit.session] = changed
        return kept
    }

    /// Commits everything and answers it on the sessions' connections.
    mutating func commit() -> [(connection: Int, frame: [UInt8])] {
        var answers: [(Int, [UInt8])] = []
        for id in sessions.keys.sorted() {
            guard let session = sessions[id], session.committed < session.logged.count else { continue }
            let first = UInt64(session.committed) + 1
            sessions[id]?.committed = session.logged.count
            for frame in results(id, from: first, through: UInt64(session.logged.count)) {
                answers.append((session.connection, frame))
            }
        }
        return answers
    }

    /// RESULTs of at most seven answers, cut where sequence numbers do not follow each other.
    private func results(_ id: SessionID, from first: RequestNumber, through last: RequestNumber) -> [[UInt8]] {
        guard let session = sessions[id], first <= last else { return [] }
        var frames: [[UInt8]] = []
        var start = first
        while start <= last {
            var end = start
            while end < last, end - start < 6, session.sequences[Int(end)] == session.sequences[Int(end) - 1] + 1 {
                end += 1
            }
            var items = ByteWriter()
            for number in start...end {
                guard let action = session.logged[Int(number) - 1] else {
                    withBytes(of: []) { ReplyItem.write(.void, $0, 0..<0, to: &items) }
                    continue
                }
                let reply = Self.reply(id, number, action)
                withBytes(of: reply) { ReplyItem.write(.committed, $0, 0..<reply.count, to: &items) }
            }
            let run = ResultSeries(
                session: id, first: start, count: Int(end - start) + 1, epoch: epoch,
                firstSequence: SequenceNumber(rawValue: session.sequences[Int(start) - 1]), items: 0..<items.count)
            frames.append(withBytes(of: items.bytes) { stamp.frame(.result(run), source: $0) })
            start = end + 1
        }
        return frames
    }

    /// A new boot: no connection is known, nothing that was not committed is.
    mutating func restart() {
        boot = BootID(rawValue: boot.rawValue + 1)
        epoch = Epoch(rawValue: epoch.rawValue + 1)
        peers = []
        for id in sessions.keys.sorted() {
            guard let session = sessions[id] else { continue }
            sessions[id]?.logged.removeLast(session.logged.count - session.committed)
            sessions[id]?.sequences.removeLast(session.sequences.count - session.committed)
            sessions[id]?.isOutOfOrderSaid = false
        }
    }
}

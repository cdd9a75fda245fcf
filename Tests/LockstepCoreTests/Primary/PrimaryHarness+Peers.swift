import LockstepCore

/// What peers say to the machine, and what they hear.
extension PrimaryHarness {
    var stamp: FrameStamp {
        FrameStamp(channel: Self.channel, clusterHash: Self.cluster.hash, epoch: machine.epoch)
    }

    func receive(_ message: Message, from connection: Connection) { receive(stamp.frame(message), from: connection) }

    func hello(
        _ connection: Connection, role: PeerRole = .client, known: KnownPosition = .none, node: String = "peer",
        boot: UInt128? = nil
    ) {
        let hello = Hello(
            nonce: connection.rawValue, role: role, node: node, incarnation: Incarnation(rawValue: 1),
            boot: BootID(rawValue: boot ?? UInt128(connection.rawValue) << 8 | 1), store: Self.storeName, known: known)
        receive(stamp.frame(.hello(hello)), from: connection)
    }

    static func openMessage(
        client: UInt128 = 1, nonce: UInt64 = 1, timeToLive: Int64 = 60_000_000,
        windowNumbers: UInt32 = Limits.windowNumbers
    ) -> Message {
        .open(
            Open(
                client: ClientKey(rawValue: client), nonce: nonce, timeToLive: timeToLive,
                windowNumbers: windowNumbers, windowBytes: Limits.smallestWindowBytes * 4))
    }

    /// A session that is open and committed, bound to `connection`.
    func session(
        _ connection: Connection, client: UInt128 = 1, nonce: UInt64 = 1, timeToLive: Int64 = 60_000_000,
        windowNumbers: UInt32 = Limits.windowNumbers
    ) -> SessionID {
        hello(connection)
        receive(
            Self.openMessage(client: client, nonce: nonce, timeToLive: timeToLive, windowNumbers: windowNumbers),
            from: connection)
        commit()
        guard let opened = sent.compactMap({ $0.opened }).last else { preconditionFailure("no session was opened") }
        forget()
        return opened.session
    }

    func submitFrame(
        _ session: SessionID, _ first: RequestNumber, _ bodies: [[UInt8]], acked: RequestNumber = 0,
        isVoid: Bool = false
    ) -> [UInt8] {
        var writer = ByteWriter()
        if !isVoid { for body in bodies { writer.writeBytes(body) } }
        return withBytes(of: writer.bytes) { source in
            let submit = Submit(
                session: session, first: first, ackedThrough: acked, count: bodies.count, isVoid: isVoid,
                actions: 0..<source.byteCount)
            return stamp.frame(.submit(submit), source: source)
        }
    }

    func submit(
        _ session: SessionID, _ first: RequestNumber, _ bytes: [UInt8], acked: RequestNumber = 0,
        isVoid: Bool = false, from connection: Connection
    ) {
        receive(submitFrame(session, first, bytes.map { [$0] }, acked: acked, isVoid: isVoid), from: connection)
    }

    func read(
        _ id: UInt64, _ level: ReadLevel, minimum: UInt64 = 0, isIndexOnly: Bool = false, from connection: Connection
    ) {
        let read = Read(
            id: id, level: level, minimum: SequenceNumber(rawValue: minimum), isIndexOnly: isIndexOnly, query: 0..<0)
        receive(.read(read), from: connection)
    }

    /// The kinds of the messages that were sent, in order.
    var kinds: [MessageKind] { sent.map { $0.message.kind } }

    /// The answers that left in RESULTs, in order.
    var answers: [Answer] { sent.flatMap { $0.answers } }
}

extension PrimaryHarness.Sent {
    var opened: Opened? { if case .opened(let opened) = message { opened } else { nil } }
    var runEnded: RunEnded? { if case .runEnded(let ended) = message { ended } else { nil } }
    var runGone: RunID? { if case .runGone(let id) = message { id } else { nil } }
    var busy: Busy? { if case .busy(let busy) = message { busy } else { nil } }
    var resumed: Resumed? { if case .resumed(let resumed) = message { resumed } else { nil } }
    var refused: Refused? { if case .refused(let refused) = message { refused } else { nil } }
    var welcome: Welcome? { if case .welcome(let welcome) = message { welcome } else { nil } }
    var beacon: Beacon? { if case .beacon(let beacon) = message { beacon } else { nil } }
    var queryStatus: QueryStatus? { if case .queryResult(let result) = message { result.status } else { nil } }
    var readResult: ReadResult? { if case .readResult(let result) = message { result } else { nil } }
    var syncPlan: SyncPlan? { if case .syncPlan(let plan) = message { plan } else { nil } }

    var outOfOrder: RequestNumber? {
        if case .outOfOrder(_, let expected) = message { expected } else { nil }
    }

    /// The answers of a RESULT, each with its number and place.
    var answers: [PrimaryHarness.Answer] {
        guard case .result(let run) = message else { return [] }
        return withBytes(of: frame) { span in
            var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
            let answers = (0..<run.count).map { index in
                do {
                    let item = try ReplyItem(from: span, &reader)
                    return PrimaryHarness.Answer(
                        session: run.session, number: run.first + UInt64(index),
                        sequence: run.firstSequence.advanced(by: index), status: item.status,
                        reply: copyBytes(of: span, item.reply))
                } catch {
                    preconditionFailure("a RESULT cannot be read: \(error)")
                }
            }
            precondition(reader.remaining == 0, "a RESULT has bytes left")
            return answers
        }
    }
}

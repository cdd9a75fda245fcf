// The messages of each link and direction: what a receiver switches over (PROTOCOL, section 4).
//
// ``Message`` is the codec's whole. A receiver converts what it decoded to the messages of its link, once, and gets nil
// for what does not belong there, which it refuses and counts. HELLO is not among them: it comes before any channel.

/// What a node says of a connection itself, on whatever channel; L1.
package enum Greeting: Hashable, Sendable {
    case welcome(Welcome)
    case refused(Refused)
    case resync

    package init?(_ message: Message) {
        guard case .greeting(let greeting) = message.onItsLink else { return nil }
        self = greeting
    }
}

/// What a client asks of a store; L1.
package enum IngressRequest: Hashable, Sendable {
    case open(Open)
    case resume(Resume)
    case submit(Submit)
    case keepAlive(KeepAlive)
    case close(SessionID)
    case read(Read)
    case query(Query)
    case runRequest(RunMessage)
    case watch(WatchRequest)
    case unwatch(WatchID)

    package init?(_ message: Message) {
        guard case .ingressRequest(let request) = message.onItsLink else { return nil }
        self = request
    }

    /// The session that the request is about.
    package var session: SessionID? {
        switch self {
        case .submit(let submit): submit.session
        case .keepAlive(let keepAlive): keepAlive.session
        case .resume(let resume): resume.session
        case .query(let query): query.session
        case .runRequest(let request): request.session
        case .close(let session): session
        case .open, .read, .watch, .unwatch: nil
        }
    }
}

/// What a node answers to a store's clients; L1.
package enum IngressReply: Hashable, Sendable {
    case opened(Opened)
    case resumed(Resumed)
    case sessionMoved(SessionID)
    case result(ResultSeries)
    case busy(Busy)
    case outOfOrder(SessionID, expected: RequestNumber)
    case sessionExpired(SessionID)
    case sessionUnknown(SessionID)
    case closed(SessionID)
    case readResult(ReadResult)
    case queryResult(QueryResult)
    case runEnded(RunEnded)
    case runGone(RunID)
    case watchResult(ReadResult)

    package init?(_ message: Message) {
        guard case .ingressReply(let reply) = message.onItsLink else { return nil }
        self = reply
    }
}

/// What a joiner asks for; L3.
package enum BulkRequest: Hashable, Sendable {
    case sync(Sync)
    case chunkRequest(ChunkRequest)
    case repairRequest(RepairRequest)

    package init?(_ message: Message) {
        guard case .bulkRequest(let request) = message.onItsLink else { return nil }
        self = request
    }
}

/// What a node answers to joiners; L3.
package enum BulkReply: Hashable, Sendable {
    case syncPlan(SyncPlan)
    case chunk(Chunk)
    case repair(Repair)
    case resync

    package init?(_ message: Message) {
        switch message.onItsLink {
        case .bulkReply(let reply): self = reply
        // The one message of two links.
        case .greeting(.resync): self = .resync
        case .hello, .greeting, .ingressRequest, .ingressReply, .bulkRequest, .broadcast, .administration,
            .replication:
            return nil
        }
    }
}

/// What a primary publishes; L4.
package enum BroadcastMessage: Hashable, Sendable {
    /// The batch's bytes, or its head alone.
    case batch(Range<Int>, isHeadOnly: Bool)
    case beacon(Beacon)

    package init?(_ message: Message) {
        guard case .broadcast(let broadcast) = message.onItsLink else { return nil }
        self = broadcast
    }
}

/// What an operator asks, and a node answers; L7.
package enum AdministrationMessage: Hashable, Sendable {
    case request(Range<Int>)
    case response(Range<Int>)

    package init?(_ message: Message) {
        guard case .administration(let administration) = message.onItsLink else { return nil }
        self = administration
    }
}

/// A message among those of its link and direction.
private enum LinkMessage {
    case hello(Hello)
    case greeting(Greeting)
    case ingressRequest(IngressRequest)
    case ingressReply(IngressReply)
    case bulkRequest(BulkRequest)
    case bulkReply(BulkReply)
    case broadcast(BroadcastMessage)
    case administration(AdministrationMessage)
    /// Its two directions are the codec's own cases.
    case replication
}

extension Message {
    /// Says of every kind where it belongs; nothing else does.
    fileprivate var onItsLink: LinkMessage {
        switch self {
        case .hello(let hello): .hello(hello)
        case .welcome(let welcome): .greeting(.welcome(welcome))
        case .refused(let refused): .greeting(.refused(refused))
        case .resync: .greeting(.resync)
        case .open(let open): .ingressRequest(.open(open))
        case .resume(let resume): .ingressRequest(.resume(resume))
        case .submit(let submit): .ingressRequest(.submit(submit))
        case .keepAlive(let keepAlive): .ingressRequest(.keepAlive(keepAlive))
        case .close(let id): .ingressRequest(.close(id))
        case .read(let read): .ingressRequest(.read(read))
        case .query(let query): .ingressRequest(.query(query))
        case .runRequest(let request): .ingressRequest(.runRequest(request))
        case .watch(let request): .ingressRequest(.watch(request))
        case .unwatch(let id): .ingressRequest(.unwatch(id))
        case .opened(let opened): .ingressReply(.opened(opened))
        case .resumed(let resumed): .ingressReply(.resumed(resumed))
        case .sessionMoved(let id): .ingressReply(.sessionMoved(id))
        case .result(let series): .ingressReply(.result(series))
        case .busy(let busy): .ingressReply(.busy(busy))
        case .outOfOrder(let id, let expected): .ingressReply(.outOfOrder(id, expected: expected))
        case .sessionExpired(let id): .ingressReply(.sessionExpired(id))
        case .sessionUnknown(let id): .ingressReply(.sessionUnknown(id))
        case .closed(let id): .ingressReply(.closed(id))
        case .readResult(let result): .ingressReply(.readResult(result))
        case .queryResult(let result): .ingressReply(.queryResult(result))
        case .runEnded(let ended): .ingressReply(.runEnded(ended))
        case .runGone(let id): .ingressReply(.runGone(id))
        case .watchResult(let result): .ingressReply(.watchResult(result))
        case .sync(let sync): .bulkRequest(.sync(sync))
        case .chunkRequest(let request): .bulkRequest(.chunkRequest(request))
        case .repairRequest(let request): .bulkRequest(.repairRequest(request))
        case .syncPlan(let plan): .bulkReply(.syncPlan(plan))
        case .chunk(let chunk): .bulkReply(.chunk(chunk))
        case .repair(let repair): .bulkReply(.repair(repair))
        case .batch(let range, let isHeadOnly): .broadcast(.batch(range, isHeadOnly: isHeadOnly))
        case .beacon(let beacon): .broadcast(.beacon(beacon))
        case .adminRequest(let range): .administration(.request(range))
        case .adminResponse(let range): .administration(.response(range))
        case .replicationRequest, .replicationReply: .replication
        }
    }
}

/// What the sender of a HELLO wants to be.
package enum PeerRole: UInt8, Hashable, Sendable {
    case client = 1
    case replica = 2
}

/// What a node is for a store.
package enum NodeRole: UInt8, Hashable, Sendable, CustomStringConvertible {
    case primary = 1
    case replica = 2
    package var description: String { self == .primary ? "primary" : "replica" }
}

/// Why a peer was refused; the connection is of no use until its cause is gone.
package enum RefusalReason: UInt8, Hashable, Sendable {
    case wrongCluster = 1
    case wrongVersion = 2
    case unknownStore = 3
    /// The peer knows of a history that this primary does not have (PROTOCOL, R-41).
    case primaryBehind = 4
    /// The node is not the primary; the message names where it believes the primary is.
    case notPrimary = 5
    /// The node cannot serve now: it stops, or its state is quarantined.
    case unavailable = 6
    /// More sessions, or larger windows, than the store grants.
    case sessionLimit = 7
    /// A message that its sender should not have sent.
    case protocolViolation = 8
    /// The access list does not allow it (PROTOCOL, R-68).
    case denied = 9
}

/// HELLO: the first message on every connection, once for each store.
package struct Hello: Hashable, Sendable {
    package var nonce: UInt64
    package var role: PeerRole
    package var node: String
    package var incarnation: Incarnation
    package var boot: BootID
    package var store: String
    package var known: KnownPosition
    /// The newest mark that the sender has applied, for operators: what nodes are compared by.
    package var mark: LogState.Mark?

    package init(
        nonce: UInt64, role: PeerRole, node: String, incarnation: Incarnation, boot: BootID, store: String,
        known: KnownPosition, mark: LogState.Mark? = nil
    ) {
        self.nonce = nonce
        self.role = role
        self.node = node
        self.incarnation = incarnation
        self.boot = boot
        self.store = store
        self.known = known
        self.mark = mark
    }
}

/// WELCOME: the answer to HELLO.
package struct Welcome: Hashable, Sendable {
    package var nonce: UInt64
    package var cluster: ClusterID
    package var role: NodeRole
    /// The journal is in memory: when ``incarnation`` changes, everything is gone (PROTOCOL, R-43).
    package var isVolatile: Bool
    package var node: String
    package var incarnation: Incarnation
    package var boot: BootID
    package var channel: Channel
    package var store: StoreID
    package var commit: Position
    /// Where batches are published; empty if this node does not publish.
    package var publishEndpoint: String
    /// Where snapshots and repairs are served; empty if this node serves none.
    package var bulkEndpoint: String
    /// Where the primary takes actions; empty if it is this node, or not known.
    package var primaryEndpoint: String
    package var creditActions: UInt32
    package var creditBytes: UInt32
    package var largestAction: UInt32

    package init(
        nonce: UInt64, cluster: ClusterID, role: NodeRole, isVolatile: Bool, node: String, incarnation: Incarnation,
        boot: BootID, channel: Channel, store: StoreID, commit: Position, publishEndpoint: String,
        bulkEndpoint: String, primaryEndpoint: String, creditActions: UInt32, creditBytes: UInt32,
        largestAction: UInt32
    ) {
        self.nonce = nonce
        self.cluster = cluster
        self.role = role
        self.isVolatile = isVolatile
        self.node = node
        self.incarnation = incarnation
        self.boot = boot
        self.channel = channel
        self.store = store
        self.commit = commit
        self.publishEndpoint = publishEndpoint
        self.bulkEndpoint = bulkEndpoint
        self.primaryEndpoint = primaryEndpoint
        self.creditActions = creditActions
        self.creditBytes = creditBytes
        self.largestAction = largestAction
    }
}

/// REFUSED: the peer, or one of its messages, is not accepted.
package struct Refused: Hashable, Sendable {
    package var nonce: UInt64
    package var reason: RefusalReason
    /// One line for a person.
    package var text: String
    /// For `notPrimary`: where the primary takes actions, if known.
    package var endpoint: String = ""

    package init(nonce: UInt64, reason: RefusalReason, text: String, endpoint: String = "") {
        self.nonce = nonce
        self.reason = reason
        self.text = text
        self.endpoint = endpoint
    }
}

package struct Open: Hashable, Sendable {
    package var client: ClientKey
    package var nonce: UInt64
    /// Microseconds of silence after which the session is to end.
    package var timeToLive: Int64
    package var windowNumbers: UInt32
    package var windowBytes: UInt32

    package init(client: ClientKey, nonce: UInt64, timeToLive: Int64, windowNumbers: UInt32, windowBytes: UInt32) {
        self.client = client
        self.nonce = nonce
        self.timeToLive = timeToLive
        self.windowNumbers = windowNumbers
        self.windowBytes = windowBytes
    }
}

package struct Opened: Hashable, Sendable {
    package var nonce: UInt64
    package var session: SessionID
    /// The microseconds that were granted.
    package var timeToLive: Int64
    package var windowNumbers: UInt32
    package var windowBytes: UInt32

    package init(nonce: UInt64, session: SessionID, timeToLive: Int64, windowNumbers: UInt32, windowBytes: UInt32) {
        self.nonce = nonce
        self.session = session
        self.timeToLive = timeToLive
        self.windowNumbers = windowNumbers
        self.windowBytes = windowBytes
    }
}

package struct Resume: Hashable, Sendable {
    package var session: SessionID
    package var openNonce: UInt64
    package var connectionNonce: UInt64
    package var ackedThrough: RequestNumber

    package init(session: SessionID, openNonce: UInt64, connectionNonce: UInt64, ackedThrough: RequestNumber) {
        self.session = session
        self.openNonce = openNonce
        self.connectionNonce = connectionNonce
        self.ackedThrough = ackedThrough
    }
}

package struct Resumed: Hashable, Sendable {
    package var session: SessionID
    package var connectionNonce: UInt64
    /// The number that the primary takes next.
    package var expected: RequestNumber

    package init(session: SessionID, connectionNonce: UInt64, expected: RequestNumber) {
        self.session = session
        self.connectionNonce = connectionNonce
        self.expected = expected
    }
}

/// SUBMIT: `count` actions with the numbers from `first`; each a length and its bytes, in ``actions`` of the frame.
package struct Submit: Hashable, Sendable {
    package var session: SessionID
    package var first: RequestNumber
    package var ackedThrough: RequestNumber
    package var count: Int
    /// The numbers are given up: they are logged without effect unless their actions were logged before.
    package var isVoid: Bool
    package var actions: Range<Int>

    package init(
        session: SessionID, first: RequestNumber, ackedThrough: RequestNumber, count: Int, isVoid: Bool,
        actions: Range<Int>
    ) {
        self.session = session
        self.first = first
        self.ackedThrough = ackedThrough
        self.count = count
        self.isVoid = isVoid
        self.actions = actions
    }
}

/// RESULT: the answers to `count` numbers from `first`, whose entries have consecutive sequence numbers.
package struct ResultSeries: Hashable, Sendable {
    package var session: SessionID
    package var first: RequestNumber
    package var count: Int
    package var epoch: Epoch
    package var firstSequence: SequenceNumber
    /// ``ReplyItem``s, end to end.
    package var items: Range<Int>

    package init(
        session: SessionID, first: RequestNumber, count: Int, epoch: Epoch, firstSequence: SequenceNumber,
        items: Range<Int>
    ) {
        self.session = session
        self.first = first
        self.count = count
        self.epoch = epoch
        self.firstSequence = firstSequence
        self.items = items
    }
}

package enum BusyReason: UInt8, Hashable, Sendable {
    case overloaded = 1
    case diskFull = 2
    /// The primary does not admit: it is behind its audience, or stops.
    case notAdmitting = 3
    /// The session's window is full: answers were not acknowledged.
    case windowFull = 4
    /// The session, or the store, has its most accepted actions that have not ended.
    case tooManyRuns = 5
    /// The sender's name has its most actions in flight, or sent its most bytes of this second.
    case quota = 6
    /// Too few data nodes are in sync for anything to be committed.
    case insufficientMembers = 7
}

package struct Busy: Hashable, Sendable {
    package var session: SessionID
    package var expected: RequestNumber
    /// Microseconds.
    package var retryAfter: UInt32
    package var reason: BusyReason

    package init(session: SessionID, expected: RequestNumber, retryAfter: UInt32, reason: BusyReason) {
        self.session = session
        self.expected = expected
        self.retryAfter = retryAfter
        self.reason = reason
    }
}

package struct KeepAlive: Hashable, Sendable {
    package var session: SessionID
    package var ackedThrough: RequestNumber
    package var applied: SequenceNumber

    package init(session: SessionID, ackedThrough: RequestNumber, applied: SequenceNumber) {
        self.session = session
        self.ackedThrough = ackedThrough
        self.applied = applied
    }
}

/// One message, whole.
///
/// Ranges point into the frame that it was decoded from.
package enum Message: Hashable, Sendable {
    case hello(Hello)
    case welcome(Welcome)
    case refused(Refused)
    case open(Open)
    case opened(Opened)
    case resume(Resume)
    case resumed(Resumed)
    case sessionMoved(SessionID)
    case submit(Submit)
    case result(ResultSeries)
    case busy(Busy)
    case outOfOrder(SessionID, expected: RequestNumber)
    case sessionExpired(SessionID)
    case sessionUnknown(SessionID)
    case keepAlive(KeepAlive)
    case close(SessionID)
    case closed(SessionID)
    case read(Read)
    case readResult(ReadResult)
    case query(Query)
    case queryResult(QueryResult)
    case resync
    case runRequest(RunMessage)
    case runEnded(RunEnded)
    /// The primary keeps no such run: it was never accepted, or it is acknowledged, or its session is over.
    case runGone(RunID)
    case watch(WatchRequest)
    /// What a watched query is answered with; the ID is the client's number of the watch.
    case watchResult(ReadResult)
    case unwatch(WatchID)
    case sync(Sync)
    case syncPlan(SyncPlan)
    case chunkRequest(ChunkRequest)
    case chunk(Chunk)
    case repairRequest(RepairRequest)
    case repair(Repair)
    /// The batch's bytes, or its 64-byte head alone if it is too large for the broadcast (flag 1, R-33).
    case batch(Range<Int>, isHeadOnly: Bool)
    case beacon(Beacon)
    case adminRequest(Range<Int>)
    case adminResponse(Range<Int>)
    case replicationRequest(ReplicationRequest)
    case replicationReply(ReplicationReply)
}

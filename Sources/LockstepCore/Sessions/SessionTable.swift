import DequeModule

/// One client's record in the log (PROTOCOL, R-20 to R-24).
package struct Session: Hashable, Sendable {
    package let id: SessionID
    package let client: ClientKey
    package let openNonce: UInt64
    /// Microseconds of silence after which the primary logs its end.
    package let timeToLive: Int64
    package let windowNumbers: UInt32
    package let windowBytes: UInt32
    /// The name that the access list had for who opened it; nil where there are no keys.
    package let sender: String?
    /// The highest number in the log.
    package fileprivate(set) var last: RequestNumber = 0
    /// The highest number whose answer the owner has.
    package fileprivate(set) var ackedThrough: RequestNumber = 0
    package fileprivate(set) var replies = ReplyRing()

    /// Actions whose answers the owner has not acknowledged.
    fileprivate var inFlight: Int { Int(clamping: last - ackedThrough) }

    fileprivate init(id: SessionID, open: Open, sender: String?) {
        self.id = id
        client = open.client
        openNonce = open.nonce
        timeToLive = open.timeToLive
        windowNumbers = open.windowNumbers
        windowBytes = open.windowBytes
        self.sender = sender
    }
}

/// All sessions of a store, as the log determines them: equal on every node at the same sequence number.
///
/// Sessions come by `sessionOpen` and go by `sessionClose` and `sessionExpire` only; nobody asks a clock.
package struct SessionTable: Hashable, Sendable {
    private var sessions: [SessionID: Session] = [:]
    private var byOpener: [Opener: SessionID] = [:]
    /// What each name has, of those that sessions were opened by.
    private var bySender: [String: Share] = [:]
    package private(set) var windowBytes = 0
    /// What the kept replies of all sessions take of memory.
    package private(set) var keptBytes = 0

    private struct Opener: Hashable, Sendable {
        var client: ClientKey
        var nonce: UInt64
    }

    /// What one name has of a store.
    package struct Share: Hashable, Sendable {
        package var sessions = 0
        /// Actions whose answers were not acknowledged.
        package var inFlight = 0

        package init(sessions: Int = 0, inFlight: Int = 0) {
            self.sessions = sessions
            self.inFlight = inFlight
        }
    }

    package init() {}

    /// What a name has, all its sessions together.
    package func share(of sender: String) -> Share { bySender[sender] ?? Share() }
    /// Who opened a session; nil if nobody is named, or there is no such session.
    package func sender(of id: SessionID) -> String? {
        sessions.index(forKey: id).flatMap { sessions.values[$0].sender }
    }

    /// Who opened each session for which somebody is named.
    ///
    /// Cost: a walk, if there is one.
    package var senders: [SessionID: String] { bySender.isEmpty ? [:] : sessions.compactMapValues(\.sender) }

    package var count: Int { sessions.count }
    package subscript(id: SessionID) -> Session? { sessions[id] }

    /// The session that this client opened with this nonce: a repeated OPEN gets it again.
    package func session(openedBy client: ClientKey, nonce: UInt64) -> Session? {
        byOpener[Opener(client: client, nonce: nonce)].flatMap { sessions[$0] }
    }

    /// What decides whether a session may go on, without a copy of its replies: holding a ``Session`` while the table
    /// changes it would copy them.
    package struct Standing: Hashable, Sendable {
        package var last: RequestNumber
        package var ackedThrough: RequestNumber
        /// The kept replies, with what it takes to find them.
        package var keptBytes: Int
        package var openNonce: UInt64
        /// Microseconds.
        package var timeToLive: Int64
        package var windowNumbers: UInt32
        package var windowBytes: UInt32
    }

    package func standing(of id: SessionID) -> Standing? {
        guard let index = sessions.index(forKey: id) else { return nil }
        return Standing(
            last: sessions.values[index].last, ackedThrough: sessions.values[index].ackedThrough,
            keptBytes: sessions.values[index].replies.memory, openNonce: sessions.values[index].openNonce,
            timeToLive: sessions.values[index].timeToLive, windowNumbers: sessions.values[index].windowNumbers,
            windowBytes: sessions.values[index].windowBytes)
    }

    /// Calls `body` for each kept stretch of a session's numbers; nothing is called if the session does not exist.
    package func forEachReply(
        of id: SessionID, in numbers: ClosedRange<RequestNumber>,
        _ body: (ReplyRing.Series, RawSpan, Range<Int>) -> Void
    ) {
        guard let index = sessions.index(forKey: id) else { return }
        sessions.values[index].replies.forEachSeries(in: numbers, body)
    }

    /// What the replies of a session take of memory that are not acknowledged by `number`, as they are counted for its
    /// window; 0 if the session does not exist.
    package func keptBytes(of id: SessionID, above number: RequestNumber) -> Int {
        guard let index = sessions.index(forKey: id) else { return 0 }
        return sessions.values[index].replies.memory(above: number)
    }

    /// The highest number of a session whose entry is at or below `sequence`, as far as its replies are kept.
    package func lastNumber(of id: SessionID, through sequence: SequenceNumber) -> RequestNumber? {
        guard let index = sessions.index(forKey: id) else { return nil }
        return sessions.values[index].replies.lastNumber(through: sequence)
    }

    /// Whether the entries that opened the sessions are all at or before a position.
    ///
    /// Cost: a walk.
    func areOpened(through position: Position) -> Bool {
        sessions.keys.allSatisfy { $0.epoch <= position.epoch && $0.sequence <= position.sequence }
    }

    /// All sessions in the order of their opening.
    ///
    /// Cost: a sort.
    package var sorted: [Session] { sessions.values.sorted { $0.id < $1.id } }

    /// The sessions that were opened after this one, in the order of their opening.
    ///
    /// Cost: a sort.
    package func ids(after id: SessionID) -> [SessionID] { sessions.keys.filter { $0 > id }.sorted() }

    /// The sessions that never had an action, in no order.
    ///
    /// Cost: a walk.
    var unused: [SessionID] { sessions.compactMap { $0.value.last == 0 ? $0.key : nil } }

    /// The window that a session gets which asks for so many bytes.
    ///
    /// Everybody gets the smallest one. What is above it comes out of a budget, at most an eighth of what is left of
    /// that, so that the budget alone never refuses a session.
    func grantedWindowBytes(_ wanted: UInt32) -> UInt32 {
        let smallest = Int(Limits.smallestWindowBytes)
        let left = max(0, Limits.windowBudgetBytes - (windowBytes - sessions.count * smallest))
        let more = min(Int(min(wanted, Limits.windowBytes)) - smallest, left / 8)
        return UInt32(smallest + max(0, more))
    }

    package mutating func open(_ id: SessionID, _ open: Open, sender: String? = nil) {
        sessions[id] = Session(id: id, open: open, sender: sender)
        if let sender { bySender[sender, default: Share()].sessions += 1 }
        byOpener[Opener(client: open.client, nonce: open.nonce)] = id
        windowBytes += Int(open.windowBytes)
    }

    /// Ends a session; false if there is none.
    @discardableResult
    package mutating func remove(_ id: SessionID) -> Bool {
        guard let session = sessions.removeValue(forKey: id) else { return false }
        byOpener[Opener(client: session.client, nonce: session.openNonce)] = nil
        windowBytes -= Int(session.windowBytes)
        keptBytes -= session.replies.memory
        if let sender = session.sender {
            bySender[sender]?.sessions -= 1
            bySender[sender]?.inFlight -= session.inFlight
            if bySender[sender]?.sessions == 0 { bySender[sender] = nil }
        }
        return true
    }

    /// Adds the replies of a series; false if the session does not exist or the numbers are not its next.
    package mutating func append(
        _ series: ReplyRing.Series, to id: SessionID, ackedThrough: RequestNumber, items: RawSpan, _ range: Range<Int>
    ) -> Bool {
        guard let index = sessions.index(forKey: id) else { return false }
        guard series.first == sessions.values[index].last + 1, ackedThrough < series.first else { return false }
        sessions.values[index].last = series.last
        if let sender = sessions.values[index].sender { bySender[sender]?.inFlight += series.count }
        keptBytes -= sessions.values[index].replies.memory
        sessions.values[index].replies.append(series, items: items, range)
        keptBytes += sessions.values[index].replies.memory
        acknowledge(at: index, through: ackedThrough)
        return true
    }

    /// Drops replies that the owner has; false if the session does not exist or never had that number.
    package mutating func acknowledge(_ id: SessionID, through number: RequestNumber) -> Bool {
        guard let index = sessions.index(forKey: id), number <= sessions.values[index].last else { return false }
        acknowledge(at: index, through: number)
        return true
    }

    private mutating func acknowledge(at index: Dictionary<SessionID, Session>.Index, through number: RequestNumber) {
        let before = sessions.values[index].ackedThrough
        guard number > before else { return }
        sessions.values[index].ackedThrough = number
        if let sender = sessions.values[index].sender { bySender[sender]?.inFlight -= Int(clamping: number - before) }
        keptBytes -= sessions.values[index].replies.memory
        defer { keptBytes += sessions.values[index].replies.memory }
        sessions.values[index].replies.drop(through: number)
    }

    func checkInvariants() {
        let kept = sessions.values.reduce(0) { $0 + $1.replies.memory }
        precondition(kept == keptBytes, "what is kept is the sum of what the sessions keep")
        var shares: [String: Share] = [:]
        for session in sessions.values {
            guard let sender = session.sender else { continue }
            shares[sender, default: Share()].sessions += 1
            shares[sender, default: Share()].inFlight += session.inFlight
        }
        precondition(shares == bySender, "what a name has is the sum of what its sessions have")
    }

    /// The digest of what the log says of sessions; reply bytes are covered by the chain.
    ///
    /// Cost: a walk.
    package var digest: Digest {
        var sum: UInt128 = 0
        for session in sessions.values {
            var hash = FieldHash()
            hash.combine(session.id.epoch.rawValue)
            hash.combine(session.id.sequence.rawValue)
            hash.combine(session.last)
            hash.combine(session.ackedThrough)
            hash.combine(UInt64(bitPattern: session.timeToLive))
            if let sender = session.sender { hash.combine(sender) }
            sum &+= hash.value
        }
        return Digest(rawValue: sum)
    }

    package func write(to writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for session in sorted {
            writer.writeSession(session.id)
            Open(
                client: session.client, nonce: session.openNonce, timeToLive: session.timeToLive,
                windowNumbers: session.windowNumbers, windowBytes: session.windowBytes
            ).write(to: &writer)
            writer.writeString(session.sender ?? "")
            writer.writeVarint(session.last)
            writer.writeVarint(session.ackedThrough)
            session.replies.write(to: &writer)
        }
    }

    /// Reads a table; `hasSenders`: it says who opened each session.
    package init(from bytes: RawSpan, _ reader: inout ByteReader, hasSenders: Bool) throws(WireError) {
        let count = try reader.readVarint(from: bytes)
        var before: SessionID?
        for _ in 0..<count {
            let start = reader.offset
            let id = try reader.readSession(from: bytes)
            // In the order of opening, so that a table has one form; and no opening has two sessions.
            guard before.map({ $0 < id }) ?? true else { throw WireError(.outOfRange, at: start) }
            before = id
            let open = try Open(from: bytes, &reader)
            guard session(openedBy: open.client, nonce: open.nonce) == nil else {
                throw WireError(.outOfRange, at: start)
            }
            let sender = hasSenders ? try reader.readName(from: bytes) : ""
            self.open(id, open, sender: sender.isEmpty ? nil : sender)
            let last = try reader.readVarint(from: bytes)
            let ackedThrough = try reader.readVarint(from: bytes)
            guard ackedThrough <= last, last < UInt64(Int64.max) else { throw WireError(.outOfRange, at: start) }
            sessions[id]?.last = last
            sessions[id]?.ackedThrough = ackedThrough
            // All sessions of a name together; more than an integer holds, no log can have.
            if !sender.isEmpty {
                let (sum, overflow) = share(of: sender).inFlight.addingReportingOverflow(Int(last - ackedThrough))
                guard !overflow else { throw WireError(.outOfRange, at: start) }
                bySender[sender]?.inFlight = sum
            }
            let replies = try ReplyRing(from: bytes, &reader)
            guard (replies.all.last?.last ?? last) == last else { throw WireError(.outOfRange, at: start) }
            sessions[id]?.replies = replies
            keptBytes += replies.memory
        }
    }
}

/// A hash of a few 64-bit fields in order: two multiplications a field (PROTOCOL, R-52).
package struct FieldHash: Sendable {
    private var high: UInt64 = 0x9E37_79B9_7F4A_7C15
    private var low: UInt64 = 0xD1B5_4A32_D192_ED03

    package init() {}

    package mutating func combine(_ field: UInt64) {
        let product = (high ^ field).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        high = product.high ^ product.low
        let other = (low ^ field &+ high).multipliedFullWidth(by: 0xE703_7ED1_A0B4_28DB)
        low = other.high ^ other.low
    }

    /// Combines a text: its length, and its UTF-8 by eight bytes, the first the lowest; the last ones with zeros.
    package mutating func combine(_ text: String) {
        combine(UInt64(text.utf8.count))
        var (word, shift): (UInt64, UInt64) = (0, 0)
        for byte in text.utf8 {
            word |= UInt64(byte) << shift
            shift += 8
            guard shift == 64 else { continue }
            combine(word)
            (word, shift) = (0, 0)
        }
        if shift > 0 { combine(word) }
    }

    package var value: UInt128 { UInt128(high) << 64 | UInt128(low) }
}

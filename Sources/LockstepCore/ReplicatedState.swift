/// What a reactor's entries are made with: the place and the time of the first of a series.
package struct PerformContext: Hashable, Sendable {
    package var session: SessionID
    package var firstNumber: RequestNumber
    package var epoch: Epoch
    package var firstSequence: SequenceNumber
    package var time: LogTime
    /// Who opened the session, by the access list; nil where there are no keys.
    package var sender: String?
    /// The kinds of actions that are performed, any other being denied; nil: all are.
    package var kinds: Set<String>?

    package init(
        session: SessionID, firstNumber: RequestNumber, epoch: Epoch, firstSequence: SequenceNumber, time: LogTime,
        sender: String? = nil, kinds: Set<String>? = nil
    ) {
        self.session = session
        self.firstNumber = firstNumber
        self.epoch = epoch
        self.firstSequence = firstSequence
        self.time = time
        self.sender = sender
        self.kinds = kinds
    }
}

/// A state that was decoded away from the node's thread and waits to be put in place.
package protocol PreparedState: Sendable {
    /// The digest of the decoded state, to be compared with the one that came with the snapshot.
    var digest: Digest { get }
}

/// A state as it was at one sequence number, to be encoded away from the node's thread.
package protocol StateImage: Sendable {
    /// The state's bytes; equal states need not have equal bytes.
    func encoded() throws -> [UInt8]
    var digest: Digest { get }
}

/// A state that actions are performed on, and what time brings: on a primary.
package protocol PerformingState: AnyObject {
    /// Runs `mutate` and `reduce` for up to `count` actions, each a length and its bytes from `reader` on, and writes
    /// an item for each with ``BatchBuilder/beginItem(mutationCount:)`` or ``BatchBuilder/appendItem(_:reason:)``.
    ///
    /// It stops after the item with which the batch becomes full, after an action with a request, and before one that
    /// is to be accepted (see ``takeRequest()``), and returns how many actions it performed, at least one but for the
    /// last reason; the reader stands past an action that is to be accepted. It never throws: what cannot be decoded,
    /// and what the reactor refuses, becomes a rejected item.
    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int

    /// The log time at which the state waits for something; nil: for nothing.
    var nextDue: LogTime? { get }

    /// Writes a count and the mutations that `time` brings, and reduces them; returns how many.
    ///
    /// All that is due, but at most ``Limits/dueMutations`` and ``Limits/actionBytes``; the rest follows by itself.
    func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int
}

/// A state whose actions may be accepted, with effects that end later: on a primary (PROTOCOL, R-60 to R-65).
package protocol EffectfulState: AnyObject {
    /// What the last action asks for besides its item; asked after each ``perform(_:_:count:context:into:)``.
    ///
    /// A state stops performing after an action with such a request, or before one that is to be accepted. Of that one
    /// ``runAccepted(_:)`` follows at once, or nothing: then it was rejected, or is performed anew later, and what the
    /// state keeps of it can be forgotten.
    func takeRequest() -> RunRequest?

    /// The action of the last request was accepted: its effect is kept until the run begins or ends.
    func runAccepted(_ id: RunID)

    /// Runs `mutate` again for an accepted action that has not ended, after a restart of the primary.
    ///
    /// An item of at most ``Limits/actionBytes`` is written to `item` if it ended at once; its mutations are reduced.
    func resume(_ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter)
        -> RunResumption

    /// The run will no longer emit or end: its effect can be forgotten.
    func runEnded(_ id: RunID)

    /// Whether what emits may still do so; of an action it is asked only while that runs, since its effect may be tied to
    /// a part of the state.
    func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool
}

/// A state that the log is applied to, on every node and by tools, and that is compared by its digest.
package protocol AppliedState: AnyObject {
    /// Reduces the mutations of `item`, which lie in `bytes`, each preceded by its length.
    ///
    /// It throws when a mutation cannot be decoded; the node then stops at this sequence number.
    func apply(_ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime)
        throws(WireError)

    /// Reduces the mutations of a series' items, the first of which stands at `position`, and writes what the session
    /// keeps of each.
    ///
    /// It throws when an item or a mutation cannot be read; the node then stops within the series.
    func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError)

    /// The digest of the working state. Cost: constant for a `ReplicatedMap`, else a walk over the state.
    var digest: Digest { get }

    /// How long ``digest`` took when it was last asked for, in nanoseconds; marks are spaced so that it stays below 1 %
    /// of the time.
    var digestCost: Int64 { get }
}

/// A state that shows what has committed to readers and observers.
package protocol ShownState: AnyObject {
    /// Keeps the working state as of `sequence`, which is a batch's end; it may be shown when that has committed.
    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime)

    /// Whether a reader or an observer has asked for a newer view since the last ``publish(through:)``.
    var isViewWanted: Bool { get }

    /// Shows the newest captured state at or below `sequence` to readers and observers.
    func publish(through sequence: SequenceNumber)

    /// Answers a client's query from the published state; throws ``QueryRefusal`` if there is no such query.
    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8]

    /// How long the last ``answer(_:_:)`` took, in nanoseconds; watches take a part of the time only.
    var answerCost: Int64 { get }
}

/// A state that goes as a whole into snapshots and comes back from them.
package protocol SnapshotState: AnyObject {
    /// The working state, to be encoded elsewhere. Taking it is cheap; keeping it makes later writes dearer.
    func image() -> any StateImage

    /// Decodes a state; called on any thread.
    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState

    /// Replaces the state by one that ``prepare(_:)`` made; nothing captured before stays.
    func install(_ prepared: any PreparedState)

    /// Goes back to the initial state.
    func reset()
}

/// A state that follows a primary's log: all that a replica asks of it.
package protocol FollowingState: AppliedState, ShownState, SnapshotState {}

/// The user's state and reactor as the protocol sees them: bytes in, bytes out.
///
/// One object belongs to one store of one node and is used on the node's thread only, unless a member says otherwise.
/// It is called once for a series of actions, not once an action, so the call through the protocol costs nothing.
package protocol ReplicatedState: FollowingState, PerformingState, EffectfulState {}

extension PerformingState {
    // A state without timers.
    package var nextDue: LogTime? { nil }
    package func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int { 0 }
}

extension EffectfulState {
    // A state without effects and sources.
    package func takeRequest() -> RunRequest? { nil }
    package func runAccepted(_ id: RunID) {}
    package func resume(
        _ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter
    ) -> RunResumption {
        item.writeItem(.rejected, reply: "this version of the reactor has no effects")
        return .ended
    }
    package func runEnded(_ id: RunID) {}
    package func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool { true }
}

extension ShownState {
    package var answerCost: Int64 { 0 }
}

extension AppliedState {
    package var digestCost: Int64 { 0 }

    package func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        try applyEach(bytes, items: items, count: count, at: position, time: time, replies: &replies)
    }

    /// Applies a series item by item.
    package func applyEach(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        var reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
        for index in 0..<count {
            let item = try Item(from: bytes, &reader)
            if item.mutationCount > 0 {
                try apply(
                    bytes, mutations: item.mutations, count: item.mutationCount,
                    at: (position.0, position.1.advanced(by: index)), time: time)
            }
            ReplyItem.write(item.status, bytes, item.reply, to: &replies)
        }
        try reader.finish()
    }
}

/// Where an entry that is no action will stand.
package struct ReduceStamp: Hashable, Sendable {
    package var epoch: Epoch
    package var sequence: SequenceNumber
    package var time: LogTime

    package init(epoch: Epoch, sequence: SequenceNumber, time: LogTime) {
        self.epoch = epoch
        self.sequence = sequence
        self.time = time
    }
}

extension ByteWriter {
    /// Writes an ``Item`` without mutations.
    package mutating func writeItem(_ status: ActionStatus, reply: String) {
        writeVarint(UInt64(status.rawValue))
        _ = writeMeasured { $0.writeRaw(reply.utf8.prefix(Limits.textBytes)) }
    }
}

/// Why a query got no answer.
package struct QueryRefusal: Error, Hashable, Sendable {
    package var reason: String
    package init(reason: String) { self.reason = reason }
}

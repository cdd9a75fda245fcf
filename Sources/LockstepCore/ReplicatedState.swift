/// What a reactor's entries are made with: the place and the time of the first of a run.
package struct PerformContext: Hashable, Sendable {
    package var session: SessionID
    package var firstNumber: RequestNumber
    package var epoch: Epoch
    package var firstSequence: SequenceNumber
    package var time: LogTime

    package init(
        session: SessionID, firstNumber: RequestNumber, epoch: Epoch, firstSequence: SequenceNumber, time: LogTime
    ) {
        self.session = session
        self.firstNumber = firstNumber
        self.epoch = epoch
        self.firstSequence = firstSequence
        self.time = time
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
}

/// The user's state and reactor as the protocol sees them: bytes in, bytes out.
///
/// One object belongs to one store of one node and is used on the node's thread only, unless a member says otherwise.
/// It is called once for a run of actions, not once an action, so the call through the protocol costs nothing.
package protocol ReplicatedState: AnyObject {
    /// Runs `mutate` and `reduce` for up to `count` actions, each a length and its bytes from `reader` on, and writes
    /// an item for each with ``BatchBuilder/beginItem(mutationCount:)`` or ``BatchBuilder/appendItem(_:reason:)``.
    ///
    /// It stops behind the item with which the batch becomes full and returns how many actions it performed, at least
    /// one. It never throws: what cannot be decoded, and what the reactor refuses, becomes a rejected item.
    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int

    /// Reduces the mutations of `item`, which lie in `bytes`, each behind its length.
    ///
    /// It throws when a mutation cannot be decoded; the node then stops at this sequence number.
    func apply(_ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime)
        throws(WireError)

    /// The digest of the working state. Cost: constant for a `ReplicatedMap`, else a walk over the state.
    var digest: Digest { get }

    /// How long ``digest`` took when it was last asked for, in nanoseconds; marks are spaced so that it stays below 1 %
    /// of the time.
    var digestCost: Int64 { get }

    /// Keeps the working state as of `sequence`, which is a batch's end; it may be shown when that has committed.
    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime)

    /// Whether a reader or an observer has asked for a newer view since the last ``publish(through:)``.
    var isViewWanted: Bool { get }

    /// Shows the newest captured state at or below `sequence` to readers and observers.
    func publish(through sequence: SequenceNumber)

    /// Answers a client's query from the published state; throws ``QueryRefusal`` if there is no such query.
    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8]

    /// The working state, to be encoded elsewhere. Taking it is cheap; keeping it makes later writes dearer.
    func image() -> any StateImage

    /// Decodes a state; called on any thread.
    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState

    /// Replaces the state by one that ``prepare(_:)`` made; nothing captured before stays.
    func install(_ prepared: any PreparedState)

    /// Goes back to the initial state.
    func reset()
}

extension ReplicatedState {
    package var digestCost: Int64 { 0 }
}

/// Why a query got no answer.
package struct QueryRefusal: Error, Hashable, Sendable {
    package var reason: String
    package init(reason: String) { self.reason = reason }
}

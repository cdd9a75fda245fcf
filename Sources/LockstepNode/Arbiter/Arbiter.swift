package import LockstepCore

/// What a data node asks of the keeper of configuration records (PROTOCOL, R-75, R-76).
///
/// An arbiter is of one cluster, and stores are named as their users name them. It keeps, for each store, the record and
/// its channel, which no other store of the cluster has; and for each node its address, for as long as the node says
/// that it is there.
///
/// - Every call ends within the time that it is given, whatever the arbiter does. A call whose task is cancelled ends
///   soon after that: a read throws `CancellationError`, a write has an unknown outcome.
/// - A write is asked at most once a call, of one server, and is never repeated by the conformer: asking again is the
///   caller's to decide, since each asking is numbered. Every error of a write is an unknown outcome: it may
///   have been done, or may still be done.
/// - Reads are linearizable: they show everything that was written before they were asked. They may be asked again of
///   another server within the time that they have.
/// - A call may be made on any thread, and any number at a time. None waits on the thread that calls it, nor runs there:
///   hence `@concurrent`, which also avoids what decision 0033 says of the compiler.
package protocol Arbiter: Sendable {
    /// Reads the record of a store, linearizably; nil if there is none.
    ///
    /// Costs one round trip to a server, and the servers' own among themselves. Throws ``ArbiterError`` if no answer
    /// came that can be understood; a record that cannot be read is such an answer, and never a missing one.
    @concurrent func record(of store: String, within limit: Duration) async throws -> StoredRecord?

    /// Compares and sets the record of a store: it is written if the arbiter has what `attempt` compares with, of the
    /// same revision and the same bytes.
    ///
    /// Asking the same attempt again is safe: at most one asking of it is applied.
    @concurrent func transact(_ attempt: RecordAttempt, on store: String, within limit: Duration) async
        -> AttemptOutcome

    /// Writes the first record of a store, and gives it the record's channel, if it has no record and nobody has that
    /// channel.
    ///
    /// For operators' commands only: a node creates no record while it serves, since one that is missing may have been
    /// lost. A channel stays with the store when its record is lost.
    @concurrent func create(_ record: ConfigurationRecord, of store: String, within limit: Duration) async
        -> CreationOutcome

    /// As ``create(_:of:within:)``, of a store that has lost its record and still has the record's channel.
    ///
    /// ``CreationOutcome/channelTaken(by:)`` says that it has it no more, and who has it: the store itself, if nobody.
    @concurrent func restore(_ record: ConfigurationRecord, of store: String, within limit: Duration) async
        -> CreationOutcome

    /// Reads which channels of the cluster are given, and to which stores, linearizably.
    @concurrent func channels(within limit: Duration) async throws -> [Channel: String]

    /// Hints at changes of the cluster's records, until `duration` has passed or the task is cancelled.
    ///
    /// A hint is only a reason to read: hints come late, several as one, or not at all, and one may come without a
    /// change. `hint` is called on any thread, one call at a time, and must not wait. The first is
    /// ``RecordHint/began``: what changes after it is hinted at, so a read then misses nothing. Throws
    /// ``ArbiterError`` if that has not come within `limit`, or if the hints break off; the caller pauses, and calls
    /// again. Costs one connection for all stores.
    @concurrent func watch(
        for duration: Duration, within limit: Duration, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) async throws

    /// Lists a node under a new lease of ``NodeLease/seconds``, in the place of what was listed under its name.
    ///
    /// An error leaves it unknown whether it is listed; then it is asked again. Addresses are hints, and nothing about
    /// safety rests on them.
    @concurrent func register(_ address: NodeAddress, within limit: Duration) async throws -> NodeLease

    /// Begins the time of a lease anew; false if the node is not listed under it any more, and must register again.
    @concurrent func keepAlive(_ lease: NodeLease, within limit: Duration) async throws -> Bool

    /// Takes a node off the list, as one does that stops in order; nothing happens if it is not listed under this lease.
    ///
    /// An error leaves it unknown whether it is listed; it is not when its lease has ended.
    @concurrent func withdraw(_ lease: NodeLease, within limit: Duration) async throws

    /// Reads who is listed, in the order of names.
    ///
    /// An address that this version cannot read is left out: it is of a newer one.
    @concurrent func nodes(within limit: Duration) async throws -> [NodeAddress]

    /// Ends its connections; calls under way end with an error, and so do later ones.
    @concurrent func close() async
}

/// What became of one asking of a ``RecordAttempt``.
package enum AttemptOutcome: Hashable, Sendable {
    /// This asking wrote the record, at this revision.
    case applied(revision: Int64)
    /// This asking wrote nothing: the arbiter has this record, or none.
    ///
    /// The record may be the attempt's own, if an earlier asking was applied; `RecordAttempt.settlement(by:)` says what
    /// it means.
    case refused(StoredRecord?)
    /// It may have been written, or may still be; the text is for a person.
    case unknown(String)
}

/// What became of one asking to create a record.
package enum CreationOutcome: Hashable, Sendable {
    /// This asking wrote the record, at this revision.
    case created(revision: Int64)
    /// The store has this record; with the attempt of the one that was asked for, an earlier asking created it.
    case exists(StoredRecord)
    /// The store has no record, and this store has the channel: perhaps the same one, whose record was lost.
    case channelTaken(by: String)
    /// It may have been created, or may still be; the text is for a person.
    case unknown(String)
}

/// A reason to read a record.
package enum RecordHint: Hashable, Sendable {
    /// Hints come from now on.
    case began
    /// Something was written to the record of this store, or it was removed, at this revision.
    case changed(store: String, revision: Int64)
}

/// Why the arbiter did not do what it was asked.
package struct ArbiterError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// No server was reached, or none answered in time.
        case unreachable
        /// A server answered that it cannot do it for the moment, as after an election of etcd.
        case unavailable
        /// A server answered that it cannot do it.
        case refused
        /// An answer came that cannot be understood, or is longer than it may be.
        case badAnswer
    }

    package let kind: Kind
    /// One line: what happened, and what to do about it where that is known.
    package let message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = String(message.map { $0.isNewline ? " " : $0 })
    }

    package var description: String { message }
    /// Whether a later question may well be answered, with nothing changed.
    package var isPassing: Bool { kind == .unreachable || kind == .unavailable }
}

/// What an arbiter takes and gives at most.
package enum ArbiterLimits {
    /// The bytes of a record.
    package static let recordBytes = 64 << 10
    /// The bytes of a node's address: 32 for each store that a node may have, and 16 KiB for all else.
    package static let addressBytes = 32 * StoreRegistry.storeBound + (16 << 10)
    /// The troubles of an address, and the bytes of the text of one.
    package static let troubles = 16
    package static let troubleBytes = 240
    /// The bytes of a list, of nodes or of channels: as many of the longest addresses as a primary has streams.
    package static let listBytes = 64 * addressBytes
}

package import LockstepCore
package import LockstepNode

/// What the sender of an action learns when it is committed: its reply, its place in the log, and its name for ever.
public struct Receipt<Reply: Sendable>: Sendable {
    /// What the reactor replied.
    public let reply: Reply
    /// The entry that the action became.
    public let place: Place
    /// The session that sent the action.
    public let session: SessionID
    /// The action's number in the session.
    public let number: RequestNumber

    /// Makes a receipt, for a stub of a store.
    public init(reply: Reply, place: Place, session: SessionID, number: RequestNumber) {
        self.reply = reply
        self.place = place
        self.session = session
        self.number = number
    }
}

extension Receipt: Equatable where Reply: Equatable {}
extension Receipt: Hashable where Reply: Hashable {}

/// What became of one action of several.
public enum Outcome<Reply: Sendable>: Sendable {
    /// It took effect exactly once.
    case committed(Receipt<Reply>)
    /// The reactor, or a limit, refused it; it is certainly without effect.
    case rejected(reason: String, place: Place)
    /// It was given up before it reached the log; it is certainly without effect.
    case void(place: Place)
    /// The access list allows its sender no actions of its kind; it is certainly without effect.
    case denied(reason: String, place: Place)
    /// Its effect goes on; ask for its end with ``ActionTarget/end(of:timeout:)``.
    case accepted(RunID, place: Place)
    /// Its effect failed; what it had emitted stays: so many entries, of all attempts.
    case failed(reason: String, emissions: Int, place: Place)
    /// Its effect was cancelled or superseded; what it had emitted stays, and nothing follows.
    case cancelled(emissions: Int, place: Place)
    /// It took effect, and the reply cannot be read by this version of the program.
    case unreadable(WireError, place: Place)

    /// The receipt of a committed action.
    ///
    /// - Throws: ``LockstepError``: `rejected` or `denied`, certainly without effect; `unfinished` for an accepted action,
    ///   whose effect goes on; `failed` or `cancelled` for an effect that began, whose emissions stay; `unreadable` for
    ///   an action that took effect and whose reply cannot be read.
    public func get() throws -> Receipt<Reply> {
        switch self {
        case .committed(let receipt): return receipt
        case .rejected(let reason, _): throw LockstepError(.rejected, reason)
        case .void(let place):
            throw LockstepError(.rejected, "the action was given up before it reached the log, at \(place)")
        case .denied(let reason, _): throw LockstepError(.denied, reason)
        case .accepted(let run, _): throw EndDesk.unfinished(run)
        case .failed(let reason, _, _): throw LockstepError(.failed, reason)
        case .cancelled(_, let place):
            throw LockstepError(.cancelled, "the action's effect was cancelled or superseded, at \(place)")
        case .unreadable(let error, let place):
            throw LockstepError(
                .unreadable, "the action took effect at \(place), but its reply cannot be read; update this program",
                underlying: error)
        }
    }
}

extension Outcome {
    /// The second answer to an accepted action.
    package init(end: RunEnding, of run: RunID, coding: Coding<Reply>) {
        let place = Place(epoch: end.epoch, sequence: end.sequence)
        let emissions = Int(clamping: end.emissions)
        self = withBytes(of: end.item) { bytes in
            do throws(WireError) {
                var reader = ByteReader(bytes)
                let item = try ReplyItem(from: bytes, &reader)
                switch item.status {
                case .committed:
                    let reply = try coding.decodeChecked(bytes, item.reply)
                    return .committed(Receipt(reply: reply, place: place, session: run.session, number: run.number))
                case .rejected:
                    return .failed(
                        reason: String(decoding: copyBytes(of: bytes, item.reply), as: UTF8.self),
                        emissions: emissions, place: place)
                case .void: return .cancelled(emissions: emissions, place: place)
                case .accepted: throw WireError(.unknownKind, at: 0)
                }
            } catch {
                return .unreadable(error, place: place)
            }
        }
    }
}

extension Outcome: Equatable where Reply: Equatable {}
extension Outcome: Hashable where Reply: Hashable {}

/// The outcomes of several actions, in their order; each is decoded when it is come to.
///
/// It can be gone through again, which decodes again.
public struct Outcomes<Reply: Sendable>: Sequence, Sendable {
    private let raw: RawReplies
    private let coding: Coding<Reply>
    /// How many there are.
    public let count: Int

    package init(_ replies: RawReplies, coding: Coding<Reply>) {
        raw = replies
        self.coding = coding
        count = replies.pieces.reduce(0) { $0 + $1.count }
    }

    /// The number of the same: exact.
    public var underestimatedCount: Int { count }

    /// Starts with the first action's outcome.
    public func makeIterator() -> Iterator { Iterator(pieces: raw.pieces, coding: coding) }

    /// The replies of all actions.
    ///
    /// - Throws: ``LockstepError`` as ``Outcome/get()`` does for the first that was not committed; the others have
    ///   their outcome all the same.
    public func replies() throws -> [Reply] { try map { try $0.get().reply } }

    /// The highest place among the outcomes.
    package var last: Place? {
        raw.pieces.map { Place(epoch: $0.epoch, sequence: $0.firstSequence.advanced(by: $0.count - 1)) }.max()
    }

    /// Goes through outcomes.
    public struct Iterator: IteratorProtocol, Sendable {
        private let pieces: [RawReplies.Piece]
        private let coding: Coding<Reply>
        private var piece = 0
        private var index = 0
        private var reader: ByteReader

        init(pieces: [RawReplies.Piece], coding: Coding<Reply>) {
            self.pieces = pieces
            self.coding = coding
            reader = ByteReader(offset: 0, end: 0)
        }

        /// The next action's outcome.
        public mutating func next() -> Outcome<Reply>? {
            while piece < pieces.count, index == pieces[piece].count {
                piece += 1
                index = 0
            }
            guard piece < pieces.count else { return nil }
            if index == 0 {
                let items = pieces[piece].items
                reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
            }
            defer { index += 1 }
            return outcome(of: pieces[piece])
        }

        private static func text(of item: ReplyItem, _ bytes: RawSpan) -> String {
            String(decoding: copyBytes(of: bytes, item.reply), as: UTF8.self)
        }

        private mutating func outcome(of piece: RawReplies.Piece) -> Outcome<Reply> {
            let place = Place(epoch: piece.epoch, sequence: piece.firstSequence.advanced(by: index))
            let number = piece.first + RequestNumber(index)
            return withBytes(of: piece.frame.bytes) { bytes in
                do throws(WireError) {
                    let item = try ReplyItem(from: bytes, &reader)
                    switch item.status {
                    case .committed:
                        let reply = try coding.decodeChecked(bytes, item.reply)
                        return .committed(Receipt(reply: reply, place: place, session: piece.session, number: number))
                    case .rejected:
                        return .rejected(reason: Self.text(of: item, bytes), place: place)
                    case .void where item.reply.isEmpty: return .void(place: place)
                    case .void: return .denied(reason: Self.text(of: item, bytes), place: place)
                    case .accepted:
                        return .accepted(RunID(session: piece.session, number: number), place: place)
                    }
                } catch {
                    return .unreadable(error, place: place)
                }
            }
        }
    }
}

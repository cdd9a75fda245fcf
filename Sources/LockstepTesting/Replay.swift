import Lockstep
import LockstepCore

/// A log to be replayed: what a replica gets of what a primary did.
struct ReplayLog: Codable, Sendable {
    struct Entry: Codable, Sendable {
        var sequence: UInt64
        /// Microseconds, as in the log.
        var time: Int64
        var mutations: [[UInt8]]
    }

    var entries: [Entry] = []
    /// The state's digest before the first entry and after each.
    var digests: [DigestText] = []

    static let epoch = Epoch(rawValue: 1)
}

/// A digest as text: numbers of 128 bits are no numbers of JSON.
struct DigestText: Codable, Hashable, Sendable {
    var high: UInt64
    var low: UInt64

    init(_ digest: Digest) {
        high = UInt64(truncatingIfNeeded: digest.rawValue >> 64)
        low = UInt64(truncatingIfNeeded: digest.rawValue)
    }

    var digest: Digest { Digest(rawValue: UInt128(high) << 64 | UInt128(low)) }
}

/// Where a replay first came to another state.
struct ReplayDifference: Codable, Sendable {
    /// 0 is before the first entry.
    var entry: Int
    var digest: DigestText
    var parts: [Part]
    /// What could not be done at all.
    var trouble: String?

    struct Part: Codable, Sendable {
        var path: String
        var content: DigestText
        var value: String?

        init(_ part: StatePart) {
            path = part.path
            content = DigestText(part.content)
            value = part.value
        }

        var part: StatePart { StatePart(path: path, content: content.digest, summand: nil, value: value) }
    }

    init(entry: Int, digest: Digest, parts: [StatePart]) {
        self.entry = entry
        self.digest = DigestText(digest)
        self.parts = parts.map(Part.init)
    }

    init(entry: Int, trouble: String) {
        self.init(entry: entry, digest: .zero, parts: [])
        self.trouble = trouble
    }
}

/// Replays logs.
enum Replay {
    /// Reduces everything, and stops at the first digest that is not the log's.
    ///
    /// With `isEncoded` the state is written and read after every entry, as it is when a replica joins.
    static func run<R: Reactor>(
        _ log: ReplayLog, from initial: R.State, as reactor: R.Type, isEncoded: Bool = false
    ) -> ReplayDifference? {
        var state = initial
        let (mutationCoding, stateCoding) = (R.mutationCoding, R.stateCoding)
        for entry in 0...log.entries.count {
            if entry > 0 {
                let logged = log.entries[entry - 1]
                let context = ReduceContext(
                    time: LogTime(rawValue: logged.time), epoch: ReplayLog.epoch,
                    sequence: SequenceNumber(rawValue: logged.sequence))
                for bytes in logged.mutations {
                    do {
                        R.reduce(into: &state, try mutationCoding.decoded(bytes), context)
                    } catch {
                        return ReplayDifference(entry: entry, trouble: "the mutation cannot be decoded: \(error)")
                    }
                }
            }
            if isEncoded {
                do {
                    state = try stateCoding.decoded(try stateCoding.encoded(state))
                } catch {
                    return ReplayDifference(entry: entry, trouble: "the state cannot be encoded and decoded: \(error)")
                }
            }
            let digest = StateDigest.digest(of: state)
            if digest != log.digests[entry].digest {
                return ReplayDifference(entry: entry, digest: digest, parts: StateDigest.parts(of: state))
            }
        }
        return nil
    }
}

/// What the actions did when they ran first, on a primary.
struct Recording<R: Reactor> {
    let initial: R.State
    private(set) var log = ReplayLog()
    private(set) var rejections: [String] = []
    /// The state before the first entry and after each.
    private var states: [R.State]
    private var mutations: [[String]] = []

    /// As good a day as any, the same in every run.
    private static var firstTime: Int64 { 1_750_000_000_000_000 }

    init(_ reactor: R, actions: [R.Action], interval: Duration) throws(DeterminismError) {
        initial = reactor.initialState
        states = [initial]
        log.digests = [DigestText(StateDigest.digest(of: initial))]
        var time = Self.firstTime
        for (index, action) in actions.enumerated() {
            time += interval.wholeNanoseconds / 1_000
            do {
                try perform(action, reactor, time: time, request: RequestNumber(index + 1))
            } catch {
                rejections.append(String(describing: error))
            }
        }
        guard !log.entries.isEmpty else {
            let reason = rejections.first.map { "; the first was refused: \($0)" } ?? ""
            throw .nothingToCompare("none of \(actions.count) actions changed anything\(reason)")
        }
    }

    private mutating func perform(_ action: R.Action, _ reactor: R, time: Int64, request: RequestNumber) throws {
        var state = states[states.count - 1]
        let sequence = SequenceNumber(rawValue: UInt64(log.entries.count + 1))
        // The action comes by wire on the primary too.
        let action = try R.actionCoding.decoded(try R.actionCoding.encoded(action))
        let session = SessionID(epoch: ReplayLog.epoch, sequence: SequenceNumber(rawValue: 1))
        let context = R.Context(
            state: state, time: LogTime(rawValue: time), session: session, request: request)
        let taken = try reactor.middleware.reduce(action) { try $1.transform($0, context) }
        let effect = try reactor.mutate(taken, context)
        if let problem = effect.deferred?.problem { throw Rejection(problem) }
        let emitted = effect.emitted
        let bytes = try emitted.map { try R.mutationCoding.encoded($0) }
        guard !emitted.isEmpty else { return }
        let reducing = ReduceContext(time: LogTime(rawValue: time), epoch: ReplayLog.epoch, sequence: sequence)
        for mutation in emitted { R.reduce(into: &state, mutation, reducing) }
        log.entries.append(ReplayLog.Entry(sequence: sequence.rawValue, time: time, mutations: bytes))
        log.digests.append(DigestText(StateDigest.digest(of: state)))
        states.append(state)
        mutations.append(emitted.map { String(describing: $0) })
    }

    /// Throws what a replay found, if it found something.
    func compare(_ difference: ReplayDifference?, _ replay: String) throws(DeterminismError) {
        guard let difference else { return }
        let entry = difference.entry
        if let trouble = difference.trouble {
            throw .nothingToCompare("\(trouble), at entry \(entry), in \(replay)")
        }
        let differences = StateDifference.between([
            (name: "at first", parts: StateDigest.parts(of: states[entry])),
            (name: replay, parts: difference.parts.map(\.part)),
        ])
        throw .differs(
            NondeterministicEntry(
                entry: entry, mutations: entry == 0 ? [] : mutations[entry - 1], replay: replay,
                digests: [log.digests[entry].digest, difference.digest.digest], differences: differences))
    }
}

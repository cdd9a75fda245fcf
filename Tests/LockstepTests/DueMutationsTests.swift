import Lockstep
import LockstepCore
import Testing

/// What log time brings to a reactor's state, as one entry has it (PROTOCOL R-65).
@Suite struct DueMutationsTests {
    /// Texts that are due one by one, and keys that are gone all in one mutation.
    struct Crowd: Reactor {
        enum Mutation: Codable, Sendable {
            case said(String)
            case gone([String])
        }
        typealias Action = Mutation

        struct State: Codable, Sendable {
            var texts: [String] = []
            var present = ExpiringMap<String, Int>()
        }

        let initialState: State

        init(texts: [String] = [], keys: Int, keyBytes: Int) {
            var state = State(texts: texts)
            for number in 0..<keys {
                let key = "\(100_000 + number)" + String(repeating: "k", count: keyBytes - 6)
                state.present.set(number, forKey: key, expiresAt: LogTime(rawValue: 10))
            }
            initialState = state
        }

        static func nextDue(in state: State) -> LogTime? {
            state.texts.isEmpty ? state.present.next : LogTime(rawValue: 10)
        }

        static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
            let said = state.texts.prefix(limit).map { Mutation.said($0) }
            let gone = state.present.expired(at: time, limit: limit - said.count)
            return gone.isEmpty ? said : said + [.gone(gone)]
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .said(let text): state.texts.removeAll { $0 == text }
            case .gone(let keys): state.present.removeExpired(keys, at: context.time)
            }
        }
    }

    /// Performs what is due on a primary's state and applies its bytes to a replica's; returns how many mutations came.
    private func bring(_ primary: ReactorState<Crowd>, to replica: ReactorState<Crowd>) throws -> Int {
        let stamp = ReduceStamp(
            epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1), time: LogTime(rawValue: 10))
        var writer = ByteWriter()
        let count = primary.performDue(at: stamp.time, context: stamp, into: &writer)
        let written = try withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(offset: 0, end: bytes.byteCount)
            let written = try reader.readVarint(from: bytes)
            try replica.apply(
                bytes, mutations: reader.offset..<bytes.byteCount, count: count, at: (stamp.epoch, stamp.sequence),
                time: stamp.time)
            return written
        }
        #expect(written == UInt64(count) && writer.count <= Limits.actionBytes)
        #expect(primary.digest == replica.digest)
        return count
    }

    /// A mutation that names more than an entry takes is asked for again with less, so that all of them go.
    @Test func aCrowdThatIsTooLargeGoesInParts() throws {
        let crowd = Crowd(keys: 1_000, keyBytes: 1_200)
        let (primary, replica) = (makeReplica(crowd), makeReplica(crowd))
        #expect(try bring(primary, to: replica) == 1)
        #expect(primary.workingState.present.count == 500)
        #expect(try bring(primary, to: replica) == 1)
        #expect(primary.workingState.present.isEmpty && primary.nextDue == nil)
        #expect(try bring(primary, to: replica) == 0)
    }

    /// What is before a mutation that does not fit is written first, in its order.
    @Test func whatIsBeforeComesFirst() throws {
        let crowd = Crowd(texts: ["a", "b"], keys: 1_000, keyBytes: 1_200)
        let (primary, replica) = (makeReplica(crowd), makeReplica(crowd))
        #expect(try bring(primary, to: replica) == 2)
        #expect(primary.workingState.texts.isEmpty && primary.workingState.present.count == 1_000)
        #expect(try bring(primary, to: replica) == 1)
        #expect(primary.workingState.present.count == 500)
    }

    /// A mutation that is too large by itself is passed over and stays due; those after it come.
    @Test func whatNeverFitsIsPassedOver() throws {
        let large = String(repeating: "x", count: Limits.actionBytes)
        let crowd = Crowd(texts: [large, "a"], keys: 3, keyBytes: 10)
        let (primary, replica) = (makeReplica(crowd), makeReplica(crowd))
        #expect(try bring(primary, to: replica) == 2)
        #expect(primary.workingState.texts == [large] && primary.workingState.present.isEmpty)
        #expect(primary.nextDue == LogTime(rawValue: 10))
        #expect(try bring(primary, to: replica) == 0)
    }

    /// Nor does it keep back a crowd that is too large as a whole.
    @Test func aCrowdGoesAfterWhatNeverFits() throws {
        let large = String(repeating: "x", count: Limits.actionBytes)
        let crowd = Crowd(texts: [large], keys: 1_000, keyBytes: 1_200)
        let (primary, replica) = (makeReplica(crowd), makeReplica(crowd))
        var rounds = 0
        while !primary.workingState.present.isEmpty, rounds < 10 {
            #expect(try bring(primary, to: replica) == 1)
            rounds += 1
        }
        #expect(rounds == 2)
    }
}

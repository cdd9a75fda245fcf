#if Macros
    import Counters
    import Foundation
    import Lockstep
    import Testing

    /// What the macro writes is what is written by hand for the counters: the same bytes for the same values, and the
    /// same errors for all others.
    @Suite struct CountersEqualityTests {
        /// The same value of the type that is coded by hand; both have one JSON.
        private func check<Derived: WireCodable & Codable & Equatable, Manual: WireCodable & Codable>(
            _ derived: Derived, as type: Manual.Type, sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            let json = try JSONEncoder().encode(derived)
            let manual = try JSONDecoder().decode(Manual.self, from: json)
            let golden = bytes(manual)
            let back = try decode(Derived.self, golden)
            #expect(back == derived, sourceLocation: sourceLocation)
            // The pairs of a map are in the order of their history, which `derived` and its JSON do not share.
            #expect(bytes(back) == golden, sourceLocation: sourceLocation)
            for end in golden.indices {
                let cut = Array(golden[..<end])
                #expect(
                    refusal(of: Derived.self, cut) == refusal(of: Manual.self, cut),
                    sourceLocation: sourceLocation)
            }
        }

        private func refusal<Value: WireCodable>(of type: Value.Type, _ bytes: [UInt8]) -> WireError? {
            do throws(WireError) {
                _ = try decode(Value.self, bytes)
                return nil
            } catch {
                return error
            }
        }

        private struct Values {
            var random: SplitMix64
            mutating func number() -> Int64 {
                .random(in: .min ... .max, using: &random) >> Int64.random(in: 0...63, using: &random)
            }
            mutating func name() -> String {
                String(repeating: "n", count: .random(in: 0...20, using: &random)) + "\(number())"
            }
            mutating func time() -> LogTime { LogTime(rawValue: number()) }
            mutating func bounds() -> DerivedCounters.Bounds {
                DerivedCounters.Bounds(lowest: number(), highest: number())
            }
            mutating func rate() -> DerivedCounters.Rate {
                func small() -> Int64 { .random(in: 1...1_000_000, using: &random) }
                return DerivedCounters.Rate(capacity: small(), refill: small(), period: small())
            }
            mutating func bucket() -> DerivedCounters.Bucket {
                DerivedCounters.Bucket(rate: rate(), level: .random(in: 0...1_000, using: &random), updated: time())
            }
            mutating func nothingOr<Value>(_ value: Value) -> Value? { Bool.random(using: &random) ? value : nil }
        }

        @Test(arguments: 0..<20 as Range<UInt64>)
        func theBytesAreThoseThatAreWrittenByHand(seed: UInt64) throws {
            var some = Values(random: SplitMix64(seed: seed))
            let actions: [DerivedCounters.Action] = [
                .add(some.name(), by: some.number()), .set(some.name(), to: some.number()), .reset(some.name()),
                .bound(some.name(), some.bounds()), .unbound(some.name()), .defineBucket(some.name(), some.rate()),
                .removeBucket(some.name()), .take(some.name(), some.number()),
            ]
            for action in actions { try check(action, as: Counters.Action.self) }
            let mutations: [DerivedCounters.Mutation] = [
                .added(some.name(), some.number()), .set(some.name(), some.number()), .removed(some.name()),
                .bounded(some.name(), some.nothingOr(some.bounds())),
                .bucket(some.name(), some.nothingOr(some.bucket())), .taken(some.name(), level: some.number()),
            ]
            for mutation in mutations { try check(mutation, as: Counters.Mutation.self) }
            let replies: [DerivedCounters.Reply] = [
                .value(some.number()), .granted(remaining: some.number()), .denied(until: some.time()), .done,
            ]
            for reply in replies { try check(reply, as: Counters.Reply.self) }
            let queries: [DerivedCounters.Query] = [
                .get(some.name()), .list(prefix: some.name(), limit: Int(some.number())), .top(Int(some.number())),
                .sum(prefix: some.name()),
            ]
            for query in queries { try check(query, as: Counters.Query.self) }
            let answers: [DerivedCounters.Answer] = [
                .value(some.nothingOr(some.number())),
                .list((0..<3).map { _ in DerivedCounters.Counter(name: some.name(), value: some.number()) }),
            ]
            for answer in answers { try check(answer, as: Counters.Answer.self) }
        }

        @Test(arguments: 0..<5 as Range<UInt64>)
        func theStateIsTheSame(seed: UInt64) throws {
            var some = Values(random: SplitMix64(seed: seed))
            var state = DerivedCounters.State()
            for _ in 0..<20 {
                state.values[some.name()] = some.number()
                state.bounds[some.name()] = some.bounds()
                state.buckets[some.name()] = some.bucket()
            }
            try check(state, as: Counters.State.self)
        }

        /// A number that stands for no case is the same error at the same byte.
        @Test(arguments: 0...255 as ClosedRange<UInt8>)
        func unknownCasesAreRefusedAlike(number: UInt8) {
            let noise = [number, 1, 0x61, 2]
            #expect(
                refusal(of: DerivedCounters.Action.self, noise)
                    == refusal(of: Counters.Action.self, noise))
            #expect(
                refusal(of: DerivedCounters.Reply.self, noise)
                    == refusal(of: Counters.Reply.self, noise))
        }
    }
#endif

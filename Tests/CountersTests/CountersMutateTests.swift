import Counters
import Lockstep
import Testing

/// What the primary decides about each action, and why it refuses.
@Suite struct CountersMutateTests {
    /// Performs actions one after the other, as the primary does, and keeps the state.
    private struct Primary {
        var state = Counters.State()
        var time = LogTime(rawValue: 1_000_000)

        mutating func perform(_ action: Counters.Action) throws -> Counters.Reply {
            let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))
            let effect = try Counters().mutate(
                action, MutateContext(state: state, time: time, session: session, request: 1))
            let context = ReduceContext(time: time, epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))
            for mutation in effect.emitted { Counters.reduce(into: &state, mutation, context) }
            return try #require(effect.reply)
        }

        /// The reason why an action is refused; nothing if it is not.
        mutating func refusal(_ action: Counters.Action) -> String? {
            do {
                _ = try perform(action)
                return nil
            } catch {
                return (error as? Rejection)?.reason
            }
        }
    }

    @Test func aCounterAddsUpIsSetAndReset() throws {
        var primary = Primary()
        #expect(try primary.perform(.add("a", by: 5)) == .value(5))
        #expect(try primary.perform(.add("a", by: -7)) == .value(-2))
        #expect(try primary.perform(.set("a", to: 40)) == .value(40))
        #expect(try primary.perform(.reset("a")) == .value(40))
        #expect(primary.refusal(.reset("a")) == "there is no counter a")
        #expect(primary.state == Counters.State())
    }

    @Test func overflowIsRefusedAtBothEnds() throws {
        var primary = Primary()
        #expect(try primary.perform(.set("a", to: .max)) == .value(.max))
        #expect(primary.refusal(.add("a", by: 1)) == "a would overflow 64 bits")
        #expect(try primary.perform(.set("a", to: .min)) == .value(.min))
        #expect(primary.refusal(.add("a", by: -1)) == "a would overflow 64 bits")
        #expect(primary.state.values == ["a": .min])
    }

    /// Names have 1 to 256 bytes; characters of several bytes count as that.
    @Test func namesHaveOneTo256Bytes() throws {
        var primary = Primary()
        let long = String(repeating: "é", count: 128)
        #expect(try primary.perform(.add(long, by: 1)) == .value(1))
        for action: (String) -> Counters.Action in [
            { .add($0, by: 1) }, { .set($0, to: 1) }, { .bound($0, Counters.Bounds()) },
            { .defineBucket($0, TokenBucket.Rate(capacity: 1, refill: 1)) },
        ] {
            #expect(primary.refusal(action("")) == "the name is empty")
            #expect(primary.refusal(action(long + "x")) == "the name has 257 bytes; 256 are the most")
        }
        #expect(primary.state.values.count == 1)
    }

    /// Two additions to a counter at 9 of 10 cannot both pass, since the second sees the first.
    @Test func aBoundHoldsForEveryAddition() throws {
        var primary = Primary()
        #expect(try primary.perform(.bound("a", Counters.Bounds(lowest: 0, highest: 10))) == .value(0))
        #expect(try primary.perform(.add("a", by: 9)) == .value(9))
        #expect(try primary.perform(.add("a", by: 1)) == .value(10))
        #expect(primary.refusal(.add("a", by: 1)) == "a would be 11, outside 0 to 10")
        #expect(primary.refusal(.add("a", by: -11)) == "a would be -1, outside 0 to 10")
        #expect(primary.refusal(.set("a", to: 11)) == "a would be 11, outside 0 to 10")
        #expect(primary.refusal(.bound("a", Counters.Bounds(highest: 9))) != nil)
        #expect(primary.refusal(.bound("a", Counters.Bounds(lowest: 2, highest: 1))) != nil)
        #expect(try primary.perform(.reset("a")) == .value(10))
        #expect(primary.refusal(.add("a", by: 11)) != nil)
        #expect(try primary.perform(.unbound("a")) == .done)
        #expect(try primary.perform(.add("a", by: 11)) == .value(11))
        #expect(primary.refusal(.unbound("a")) == "a has no bounds")
    }

    /// A bucket of 3 that gains 2 a second: its clock is the entry's time, its arithmetic has no rounding.
    @Test func aBucketGrantsWhatItsClockAllows() throws {
        var primary = Primary()
        #expect(primary.refusal(.take("b", 1)) == "there is no bucket b")
        let rate = TokenBucket.Rate(capacity: 3, refill: 2)
        #expect(try primary.perform(.defineBucket("b", rate)) == .granted(remaining: 3))
        #expect(try primary.perform(.take("b", 2)) == .granted(remaining: 1))
        #expect(try primary.perform(.take("b", 2)) == .denied(until: LogTime(rawValue: 1_500_000)))
        primary.time = LogTime(rawValue: 1_499_999)
        #expect(try primary.perform(.take("b", 2)) == .denied(until: LogTime(rawValue: 1_500_000)))
        primary.time = LogTime(rawValue: 1_500_000)
        #expect(try primary.perform(.take("b", 2)) == .granted(remaining: 0))
        primary.time = LogTime(rawValue: 100_000_000)
        #expect(try primary.perform(.take("b", 3)) == .granted(remaining: 0))
        #expect(primary.refusal(.take("b", 4)) != nil)
        #expect(primary.refusal(.take("b", 0)) != nil)
        #expect(try primary.perform(.removeBucket("b")) == .done)
        #expect(primary.refusal(.removeBucket("b")) == "there is no bucket b")
    }

    /// Thirds of a token a microsecond and times at the ends of the range neither round nor trap.
    @Test func oddRatesAndTimesAreExact() throws {
        var primary = Primary()
        let slow = TokenBucket.Rate(capacity: 1, refill: 1, every: .seconds(60))
        _ = try primary.perform(.defineBucket("slow", slow))
        _ = try primary.perform(.take("slow", 1))
        #expect(try primary.perform(.take("slow", 1)) == .denied(until: LogTime(rawValue: 61_000_000)))
        primary.time = LogTime(rawValue: .min)
        #expect(try primary.perform(.take("slow", 1)) == .denied(until: LogTime(rawValue: 61_000_000)))
        primary.time = LogTime(rawValue: .max)
        #expect(try primary.perform(.take("slow", 1)) == .granted(remaining: 0))
        let wide = TokenBucket.Rate(capacity: .max, refill: .max, every: .microseconds(1))
        #expect(try primary.perform(.defineBucket("wide", wide)) == .granted(remaining: .max))
        #expect(try primary.perform(.take("wide", .max)) == .granted(remaining: 0))
        for rate in [
            TokenBucket.Rate(capacity: .max, refill: 1), TokenBucket.Rate(capacity: 0, refill: 1),
            TokenBucket.Rate(capacity: 1, refill: 0), TokenBucket.Rate(capacity: 1, refill: 1, every: .zero),
            TokenBucket.Rate(capacity: 1, refill: 1, every: .seconds(Int64.max)),
        ] {
            #expect(primary.refusal(.defineBucket("bad", rate)) != nil)
        }
    }
}

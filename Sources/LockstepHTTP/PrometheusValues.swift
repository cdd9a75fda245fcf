internal import Metrics
internal import Synchronization

/// A sum that only grows; whole and fractional increments add up.
package final class PrometheusCounter: CounterHandler, FloatingPointCounterHandler {
    private let whole = Atomic<Int64>(0)
    private let rest = AtomicDouble()

    package init() {}

    package func increment(by amount: Int64) { whole.wrappingAdd(max(0, amount), ordering: .relaxed) }
    package func increment(by amount: Double) { if amount > 0, amount.isFinite { rest.add(amount) } }

    package func reset() {
        whole.store(0, ordering: .relaxed)
        rest.store(0)
    }

    var wholePart: Int64 { whole.load(ordering: .relaxed) }
    var fraction: Double { rest.load() }
}

/// A value that goes up and down.
package final class PrometheusGauge: RecorderHandler, MeterHandler {
    private let value = AtomicDouble()

    package init() {}

    package func record(_ value: Int64) { self.value.store(Double(value)) }
    package func record(_ value: Double) { self.value.store(value) }
    package func set(_ value: Int64) { self.value.store(Double(value)) }
    package func set(_ value: Double) { self.value.store(value) }
    package func increment(by amount: Double) { value.add(amount) }
    package func decrement(by amount: Double) { value.add(-amount) }

    var current: Double { value.load() }
}

/// Counts values by the first bound that is not below them, and adds them up.
///
/// The count is the sum of the buckets, so the two agree in every text; the sum of the values may be a moment older.
package final class PrometheusHistogram: RecorderHandler, TimerHandler {
    let bounds: [Double]
    private let buckets: [Bucket]
    private let total = AtomicDouble()

    private final class Bucket: Sendable {
        let count = Atomic<UInt64>(0)
    }

    /// Makes an empty one; `bounds` ascend, and one bucket more takes what is above all of them.
    package init(bounds: [Double]) {
        self.bounds = bounds
        buckets = (0...bounds.count).map { _ in Bucket() }
    }

    package func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
    package func record(_ value: Int64) { record(Double(value)) }

    package func record(_ value: Double) {
        guard !value.isNaN else { return }
        var place = 0
        while place < bounds.count, bounds[place] < value { place += 1 }
        buckets[place].count.wrappingAdd(1, ordering: .relaxed)
        total.add(value)
    }

    /// How many values are in each bucket, the last of which has no bound.
    var counts: [UInt64] { buckets.map { $0.count.load(ordering: .relaxed) } }
    var sum: Double { total.load() }
}

/// A floating-point number that any thread changes.
private final class AtomicDouble: Sendable {
    private let bits = Atomic<UInt64>(0)

    func load() -> Double { Double(bitPattern: bits.load(ordering: .relaxed)) }
    func store(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ amount: Double) {
        var old = bits.load(ordering: .relaxed)
        while true {
            let new = (Double(bitPattern: old) + amount).bitPattern
            let (isDone, current) = bits.weakCompareExchange(expected: old, desired: new, ordering: .relaxed)
            if isDone { return }
            old = current
        }
    }
}

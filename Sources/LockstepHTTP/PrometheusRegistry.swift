package import Metrics
internal import LockstepNode
internal import Synchronization

/// Keeps all metrics of the process, and renders them in Prometheus's text format: a backend of swift-metrics.
///
/// Counters are counters, recorders that do not aggregate and meters are gauges, timers and recorders that aggregate are
/// histograms. A timer is shown in seconds. Making a metric takes a lock; updating one is an atomic operation and
/// allocates nothing. A metric that is made twice is one metric.
///
/// There are at most ``seriesBound`` series. One more is refused: it takes updates and is not shown, and
/// ``refusedName`` counts it. A name whose kind differs from before is refused too.
package final class PrometheusRegistry: MetricsFactory, Sendable {
    /// The most series, each a name with the values of its labels.
    package static let seriesBound = 10_000
    /// The most bytes of a label's value; a longer one is cut.
    package static let valueBytes = 256
    /// Counts the series that were refused.
    package static let refusedName = "lockstep_series_refused_total"

    private let contents = Mutex(Contents())
    private let bound: Int
    private let refused = PrometheusCounter()

    struct Series: Sendable {
        /// `name="value"` of each label, with commas between them.
        var labels: String
        var value: Value
    }

    enum Value: Sendable {
        case counter(PrometheusCounter)
        case gauge(PrometheusGauge)
        case histogram(PrometheusHistogram)

        var kind: MetricKind {
            switch self {
            case .counter: .counter
            case .gauge: .gauge
            case .histogram: .histogram
            }
        }

        var handler: AnyObject {
            switch self {
            case .counter(let counter): counter
            case .gauge(let gauge): gauge
            case .histogram(let histogram): histogram
            }
        }
    }

    private struct Family {
        var kind: MetricKind
        /// As it was given, where the name had to be changed.
        var label: String?
        var series: [String: Value] = [:]
    }

    private struct Contents {
        var families: [String: Family] = [:]
        var count = 0
        /// Where each handler is, for its end.
        var places: [ObjectIdentifier: (name: String, labels: String)] = [:]
    }

    /// Makes an empty registry; `bound` is the most series.
    package init(bound: Int = PrometheusRegistry.seriesBound) {
        self.bound = bound
        contents.withLock { contents in
            contents.families[Self.refusedName] = Family(kind: .counter, series: ["": .counter(refused)])
        }
    }

    // MARK: - Making

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        guard case .counter(let counter)? = value(label, dimensions, .counter, make: { .counter(PrometheusCounter()) })
        else { return PrometheusCounter() }
        return counter
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        guard case .counter(let counter)? = value(label, dimensions, .counter, make: { .counter(PrometheusCounter()) })
        else { return PrometheusCounter() }
        return counter
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(label, dimensions) ?? PrometheusGauge()
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return gauge(label, dimensions) ?? PrometheusGauge() }
        return histogram(label, dimensions) ?? PrometheusHistogram(bounds: [])
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions) ?? PrometheusHistogram(bounds: [])
    }

    private func gauge(_ label: String, _ dimensions: [(String, String)]) -> PrometheusGauge? {
        guard case .gauge(let gauge)? = value(label, dimensions, .gauge, make: { .gauge(PrometheusGauge()) }) else {
            return nil
        }
        return gauge
    }

    private func histogram(_ label: String, _ dimensions: [(String, String)]) -> PrometheusHistogram? {
        let bounds = NodeMetric.named(label)?.buckets ?? MetricBuckets.usual
        let value = value(label, dimensions, .histogram) { .histogram(PrometheusHistogram(bounds: bounds)) }
        guard case .histogram(let histogram)? = value else { return nil }
        return histogram
    }

    /// The series of this name and these labels, made if it is new; nil if it is refused.
    private func value(
        _ label: String, _ dimensions: [(String, String)], _ kind: MetricKind, make: () -> Value
    ) -> Value? {
        let name = PrometheusText.name(label)
        let labels = PrometheusText.labels(dimensions)
        let found: Value? = contents.withLock { contents in
            var family = contents.families[name] ?? Family(kind: kind, label: name == label ? nil : label)
            guard family.kind == kind else { return nil }
            if let value = family.series[labels] { return value }
            guard contents.count < bound else { return nil }
            let value = make()
            family.series[labels] = value
            contents.families[name] = family
            contents.count += 1
            contents.places[ObjectIdentifier(value.handler)] = (name, labels)
            return value
        }
        if found == nil { refused.increment(by: Int64(1)) }
        return found
    }

    // MARK: - Ends

    package func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
    package func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
    package func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
    package func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

    private func destroy(_ handler: AnyObject) {
        contents.withLock { contents in
            guard let place = contents.places.removeValue(forKey: ObjectIdentifier(handler)) else { return }
            contents.families[place.name]?.series[place.labels] = nil
            if contents.families[place.name]?.series.isEmpty ?? false { contents.families[place.name] = nil }
            contents.count -= 1
        }
    }

    // MARK: - Showing

    /// All metrics in Prometheus's text format (version 0.0.4), names and labels in the order of their bytes.
    ///
    /// The lock is held for a copy of the tables, not while the text is made.
    package func text() -> String {
        let families = contents.withLock { $0.families }
        var text = PrometheusText()
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text.begin(name, kind: family.kind, help: help(of: name, label: family.label))
            for (labels, value) in family.series.sorted(by: { $0.key < $1.key }) {
                text.append(Series(labels: labels, value: value), of: name)
            }
        }
        return text.text
    }

    private func help(of name: String, label: String?) -> String {
        if name == Self.refusedName { return "Series that found no room in this list." }
        if let help = NodeMetric.named(name)?.help ?? ProcessMetrics.help[name] { return help }
        return label.map { "A metric of this program, which names it \($0)." } ?? "A metric of this program."
    }
}

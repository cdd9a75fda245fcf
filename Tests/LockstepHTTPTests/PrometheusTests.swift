import LockstepHTTP
import Metrics
import Testing

/// The registry of metrics, and the text that it makes.
@Suite struct PrometheusTests {
    @Test func countersGaugesAndHistogramsAreWritten() {
        let registry = PrometheusRegistry()
        let counter = Counter(label: "b_total", dimensions: [("z", "2"), ("a", "1")], factory: registry)
        counter.increment(by: 5)
        FloatingPointCounter(label: "c_total", factory: registry).increment(by: 0.5)
        let gauge = Gauge(label: "a_bytes", dimensions: [], factory: registry)
        gauge.record(1.25)
        let timer = Timer(label: "lockstep_commit_duration_seconds", dimensions: [("store", "s")], factory: registry)
        timer.recordNanoseconds(60_000)
        timer.recordMilliseconds(50)
        timer.recordSeconds(100)
        let text = registry.text()
        for line in [
            "# TYPE a_bytes gauge\na_bytes 1.25\n", "# TYPE b_total counter\nb_total{a=\"1\",z=\"2\"} 5\n",
            "c_total 0.5\n", "# TYPE lockstep_commit_duration_seconds histogram\n",
            "lockstep_commit_duration_seconds_bucket{store=\"s\",le=\"5e-05\"} 0\n",
            "lockstep_commit_duration_seconds_bucket{store=\"s\",le=\"0.0001\"} 1\n",
            "lockstep_commit_duration_seconds_bucket{store=\"s\",le=\"0.05\"} 2\n",
            "lockstep_commit_duration_seconds_bucket{store=\"s\",le=\"5\"} 2\n",
            "lockstep_commit_duration_seconds_bucket{store=\"s\",le=\"+Inf\"} 3\n",
            "lockstep_commit_duration_seconds_count{store=\"s\"} 3\n",
            "lockstep_commit_duration_seconds_sum{store=\"s\"} 100.05006\n", "lockstep_series_refused_total 0\n",
        ] {
            #expect(text.contains(line), "\(line) is missing in \(text)")
        }
        #expect(text == registry.text(), "the order is the same each time")
    }

    @Test func whatIsMadeTwiceIsOneMetric() {
        let registry = PrometheusRegistry()
        for _ in 0..<3 { Counter(label: "n_total", dimensions: [("a", "b")], factory: registry).increment() }
        #expect(registry.text().contains("n_total{a=\"b\"} 3\n"))
    }

    @Test func valuesAreEscapedAndNamesMadeValid() {
        let registry = PrometheusRegistry()
        Counter(label: "1 strange.näme", dimensions: [("a-b", "x\\y\"z\r\nw")], factory: registry).increment()
        let text = registry.text()
        #expect(text.contains("_1_strange_n_me{a_b=\"x\\\\y\\\"z\r\\nw\"} 1\n"), "\(text)")
        #expect(text.contains("# HELP _1_strange_n_me A metric of this program, which names it 1 strange.näme."))
        let long = String(repeating: "ü", count: 500)
        Gauge(label: "g", dimensions: [("a", long)], factory: registry).record(1)
        #expect(registry.text().contains("g{a=\"\(String(repeating: "ü", count: 128))\"} 1\n"))
    }

    /// Beyond the bound a series works for its owner and is counted as refused.
    @Test func seriesBeyondTheBoundAreRefusedAndCounted() {
        let registry = PrometheusRegistry(bound: 3)
        for number in 0..<5 {
            Counter(label: "n_total", dimensions: [("number", "\(number)")], factory: registry).increment()
        }
        let text = registry.text()
        #expect(text.contains("number=\"2\"") && !text.contains("number=\"3\""))
        #expect(text.contains("\nlockstep_series_refused_total 2\n"))
    }

    @Test func aNameOfAnotherKindIsRefused() {
        let registry = PrometheusRegistry()
        Counter(label: "n", factory: registry).increment()
        Gauge(label: "n", factory: registry).record(7)
        Timer(label: "n", factory: registry).recordSeconds(7)
        #expect(registry.text().contains("# TYPE n counter\nn 1\n"))
        #expect(registry.text().contains("lockstep_series_refused_total 2\n"))
    }

    @Test func aDestroyedSeriesGivesItsPlaceBack() {
        let registry = PrometheusRegistry(bound: 1)
        let first = Gauge(label: "first", factory: registry)
        first.record(1)
        first.destroy()
        Gauge(label: "second", factory: registry).record(2)
        #expect(registry.text().contains("second 2\n") && !registry.text().contains("first"))
    }

    @Test func updatesOfManyThreadsAddUp() async {
        let registry = PrometheusRegistry()
        let counter = Counter(label: "n_total", factory: registry)
        let timer = Timer(label: "t_seconds", factory: registry)
        await withDiscardingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 {
                        counter.increment()
                        timer.recordSeconds(1)
                    }
                }
            }
        }
        let text = registry.text()
        #expect(text.contains("n_total 80000\n") && text.contains("t_seconds_sum 80000\n"))
        #expect(text.contains("t_seconds_count 80000\n"))
    }

    @Test(arguments: [
        (0.0, "0"), (-3.0, "-3"), (0.1, "0.1"), (1e18, "1e+18"), (.infinity, "+Inf"), (-.infinity, "-Inf"),
        (Double.nan, "NaN"), (1e-7, "1e-07"),
    ])
    func numbersAreWrittenAsPrometheusReadsThem(value: Double, text: String) {
        let registry = PrometheusRegistry()
        Gauge(label: "g", factory: registry).record(value)
        #expect(registry.text().contains("\ng \(text)\n"))
    }
}

internal import LockstepNode

/// Prometheus's text format, version 0.0.4, as it is written.
struct PrometheusText {
    private(set) var text = ""

    /// What it is served as.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Begins a metric: the lines HELP and TYPE.
    mutating func begin(_ name: String, kind: MetricKind, help: String) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind.rawValue)\n"
    }

    /// The lines of one series.
    mutating func append(_ series: PrometheusRegistry.Series, of name: String) {
        switch series.value {
        case .counter(let counter):
            let fraction = counter.fraction
            let value = fraction == 0 ? "\(counter.wholePart)" : Self.number(Double(counter.wholePart) + fraction)
            line(name, series.labels, value)
        case .gauge(let gauge): line(name, series.labels, Self.number(gauge.current))
        case .histogram(let histogram): append(histogram, series.labels, of: name)
        }
    }

    private mutating func append(_ histogram: PrometheusHistogram, _ labels: String, of name: String) {
        let counts = histogram.counts
        var sum: UInt64 = 0
        for (place, count) in counts.enumerated() {
            sum &+= count
            let bound = place < histogram.bounds.count ? Self.number(histogram.bounds[place]) : "+Inf"
            line("\(name)_bucket", (labels.isEmpty ? "" : labels + ",") + "le=\"\(bound)\"", "\(sum)")
        }
        line("\(name)_sum", labels, Self.number(histogram.sum))
        line("\(name)_count", labels, "\(sum)")
    }

    private mutating func line(_ name: String, _ labels: String, _ value: String) {
        text += labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels)} \(value)\n"
    }

    // MARK: - Parts

    /// A number as Go reads it; a whole one without a point.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return "\(Int64(value))" }
        return "\(value)"
    }

    /// A name that the format allows: what it does not allow becomes `_`.
    static func name(_ label: String) -> String { identifier(label, colons: true) }

    private static func identifier(_ text: String, colons: Bool) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            let isLetter = ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
            let isDigit = ("0"..."9").contains(scalar)
            if isDigit, name.isEmpty { name += "_" }
            name += isLetter || isDigit || (colons && scalar == ":") ? String(Character(scalar)) : "_"
        }
        return name.isEmpty ? "_" : name
    }

    /// Labels in the order of their names, each value quoted; of a name that comes twice, the last.
    static func labels(_ dimensions: [(String, String)]) -> String {
        guard !dimensions.isEmpty else { return "" }
        var values: [String: String] = [:]
        for (name, value) in dimensions { values[identifier(name, colons: false)] = value }
        return values.sorted { $0.key < $1.key }
            .map { "\($0.key)=\"\(escaped(cut($0.value), quotes: true))\"" }.joined(separator: ",")
    }

    private static func cut(_ value: String) -> String {
        guard value.utf8.count > PrometheusRegistry.valueBytes else { return value }
        var cut = ""
        for character in value {
            guard cut.utf8.count + String(character).utf8.count <= PrometheusRegistry.valueBytes else { break }
            cut.append(character)
        }
        return cut
    }

    /// By scalars, since the format looks at bytes: a carriage return before a line feed is one character in Swift.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: "\\\"".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}

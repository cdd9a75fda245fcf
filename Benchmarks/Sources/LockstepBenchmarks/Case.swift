/// One thing that is measured.
struct Case: Sendable {
    /// Group and name, as `limits.txt` and the command line name it.
    var name: String
    /// What one operation is.
    var unit: String
    var rounds: Int
    var scope: Meter.Scope
    /// The plain thing whose time this one's is divided by.
    var baseline: Baseline?
    /// Prepares, then calls ``Meter/measure(_:)`` once a round for as long as the meter goes on.
    var body: @Sendable (inout Meter) throws -> Void

    init(
        _ name: String, unit: String, rounds: Int = 20, scope: Meter.Scope = .thread, baseline: Baseline? = nil,
        body: @escaping @Sendable (inout Meter) throws -> Void
    ) {
        self.name = name
        self.unit = unit
        self.rounds = rounds
        self.scope = scope
        self.baseline = baseline
        self.body = body
    }

    func measured(plantingDefect hasPlantedDefect: Bool = false) throws -> Measurement {
        var meter = Meter(rounds: rounds, scope: scope, hasPlantedDefect: hasPlantedDefect)
        try body(&meter)
        return Measurement(of: self, meter.reading)
    }
}

/// The plainest program that does the part of a case's work which nobody can leave out.
struct Baseline: Sendable {
    /// What it is, for the table.
    var name: String
    var body: @Sendable (inout Meter) throws -> Void

    init(_ name: String, body: @escaping @Sendable (inout Meter) throws -> Void) {
        self.name = name
        self.body = body
    }

    /// Nanoseconds an operation.
    func measured(scope: Meter.Scope, rounds: Int) throws -> Double {
        var meter = Meter(rounds: rounds, scope: scope)
        try body(&meter)
        return Measurement.median(meter.reading.nanoseconds)
    }
}

/// What was measured of a case, an operation.
struct Measurement: Sendable {
    var name: String
    var unit: String
    var nanoseconds: Double
    var allocations: Double
    var bytes: Double
    /// The baseline's name, and how often its time goes into this one's.
    var ratio: (baseline: String, value: Double)?

    init(of measured: Case, _ reading: Meter.Reading) {
        name = measured.name
        unit = measured.unit
        nanoseconds = Self.median(reading.nanoseconds)
        allocations = Double(reading.allocations) / Double(reading.operations)
        bytes = Double(reading.bytes) / Double(reading.operations)
    }

    /// The middle of some values.
    static func median(_ values: [Double]) -> Double {
        precondition(!values.isEmpty, "a case measures every round")
        return values.sorted()[values.count / 2]
    }
}

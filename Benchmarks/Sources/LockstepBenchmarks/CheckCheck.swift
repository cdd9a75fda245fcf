/// Checks the check: it must find a defect in each case, and a limit that is too loose.
struct CheckCheck {
    var limits: AllocationLimits
    var cases: [Case]

    /// Takes what was measured without a defect.
    func run(_ measurements: [Measurement]) throws {
        try checkDefects()
        try checkLooseLimits(measurements)
        try checkMissingLimits(measurements)
        Report.line("the check: one allocation more an operation was found in each of \(cases.count) cases")
    }

    /// Each case with one object more an operation.
    private func checkDefects() throws {
        for planted in cases {
            let measurement = try planted.measured(plantingDefect: true)
            guard limits.compared(with: [measurement]).excesses.count == 1 else {
                throw Failure("the check does not find one allocation more an operation in \(planted.name)")
            }
        }
    }

    private func checkLooseLimits(_ measurements: [Measurement]) throws {
        let loose = AllocationLimits(
            Dictionary(uniqueKeysWithValues: measurements.map { ($0.name, 1.1 * $0.allocations + 0.01) }))
        let found = loose.compared(with: measurements)
        guard found.looseLimits.count == measurements.count, found.excesses.isEmpty else {
            throw Failure("the check takes limits that are too loose for good ones")
        }
    }

    private func checkMissingLimits(_ measurements: [Measurement]) throws {
        let none = AllocationLimits([:])
        guard none.compared(with: measurements).excesses.count == measurements.count else {
            throw Failure("the check takes cases without a limit")
        }
        guard AllocationLimits(["no such case": 1]).unknown(among: cases) == ["no such case"] else {
            throw Failure("the check takes limits without a case")
        }
    }
}

import Foundation
import Synchronization

/// The program that `Benchmarks/run` builds: measures the cases, and compares their allocations with the limits.
///
///     LockstepBenchmarks --limits FILE --scratch FOLDER [--check] [--check-the-check] [--update] [CASE]...
@main
enum Program {
    static func main() {
        do {
            try run(Options(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private struct Options {
        var limits = ""
        var isChecking = false
        var isCheckingTheCheck = false
        var isUpdating = false
        var names: [String] = []

        init(_ arguments: ArraySlice<String>) throws {
            var rest = arguments
            while let argument = rest.popFirst() {
                switch argument {
                case "--limits": limits = rest.popFirst() ?? ""
                case "--scratch":
                    let folder = rest.popFirst() ?? ""
                    JournalCases.folder.withLock { $0 = folder }
                case "--check": isChecking = true
                case "--check-the-check": isCheckingTheCheck = true
                case "--update": isUpdating = true
                case _ where argument.hasPrefix("-"): throw Failure("there is no option \(argument)")
                default: names.append(argument)
                }
            }
            guard !isUpdating || names.isEmpty else { throw Failure("--update writes the limits of all cases") }
            guard !limits.isEmpty else { throw Failure("--limits names the file of the limits") }
            // Without it a table of texts has another shape in every process.
            guard ProcessInfo.processInfo.environment["SWIFT_DETERMINISTIC_HASHING"] != nil else {
                throw Failure("SWIFT_DETERMINISTIC_HASHING is not set; start with Benchmarks/run")
            }
        }
    }

    private static func run(_ options: Options) throws {
        #if DEBUG
            throw Failure("this is a debug build; its figures mean nothing")
        #endif
        try CounterCheck.run()
        let cases = try Catalogue.cases(named: options.names)
        let measurements = try Report.measure(cases)
        if options.isUpdating {
            try (header + AllocationLimits.text(of: measurements))
                .write(toFile: options.limits, atomically: true, encoding: .utf8)
            Report.line("wrote \(options.limits)")
        }
        guard options.isChecking || options.isCheckingTheCheck else { return }
        let limits = try AllocationLimits(text: String(contentsOfFile: options.limits, encoding: .utf8))
        if options.isChecking { try check(measurements, limits) }
        if options.isCheckingTheCheck { try CheckCheck(limits: limits, cases: cases).run(measurements) }
    }

    private static let header = """
        # Allocations an operation, the most that each case may have. Written by `Benchmarks/run --update`.

        """

    private static func check(_ measurements: [Measurement], _ limits: AllocationLimits) throws {
        let findings = limits.compared(with: measurements)
        for line in findings.looseLimits { Report.line("loose: \(line); tighten it with Benchmarks/run --update") }
        let unknown = limits.unknown(among: Catalogue.cases).map { "\($0) has a limit and is no case" }
        let faults = findings.excesses + unknown
        guard faults.isEmpty else {
            throw Failure(faults.map { "FAILED: \($0)" }.joined(separator: "\n"))
        }
        Report.line("allocations: \(measurements.count) cases are within their limits")
    }
}

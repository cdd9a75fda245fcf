import Foundation
import LockstepFuzzing

/// The program that `Fuzz/run` builds: libFuzzer around one target.
///
///     LOCKSTEP_FUZZ_TARGET=frames LockstepFuzz [option of libFuzzer]... [folder or file]...
///     LOCKSTEP_FUZZ_TARGET=frames LockstepFuzz --seeds GOLDEN-BYTES FOLDER
///     LOCKSTEP_FUZZ_TARGET=frames LockstepFuzz --longest
///
/// `LOCKSTEP_FUZZ_DEFECT` plants a defect, which must then be found.
@main
enum Program {
    static let target = read("LOCKSTEP_FUZZ_TARGET") { FuzzTarget(rawValue: $0) }
    static let defect = read("LOCKSTEP_FUZZ_DEFECT") { FuzzDefect(rawValue: $0) }

    static func main() throws {
        guard let target else {
            print("LOCKSTEP_FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))")
            exit(64)
        }
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == "--seeds" { return try write(target, arguments[2], arguments[3]) }
        if arguments.count == 2, arguments[1] == "--longest" { return print(target.longestInput) }
        var count = CommandLine.argc
        var values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(runDriver(&count, &values, testOneInput))
    }

    private static func read<Value>(_ name: String, _ parse: (String) -> Value?) -> Value? {
        guard let text = ProcessInfo.processInfo.environment[name], !text.isEmpty else { return nil }
        guard let value = parse(text) else {
            print("\(name) cannot be \(text)")
            exit(64)
        }
        return value
    }

    private static func write(_ target: FuzzTarget, _ golden: String, _ folder: String) throws {
        let text = try String(contentsOfFile: golden, encoding: .utf8)
        for seed in try Seeds.seeds(of: target, golden: text) {
            try Data(seed.bytes).write(to: URL(fileURLWithPath: folder).appendingPathComponent(seed.name))
        }
    }
}

/// libFuzzer's own entry, beneath its `main`.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<Int32>,
    _ values: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The longest that an execution may take, in nanoseconds of the processor's time.
private let longest = 50_000_000

private func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    _ = zerosGivenBack
    let input = [UInt8](UnsafeBufferPointer(start: data, count: count))
    // The wall's clock first, which costs no system call and never shows less than the processor's. Then once more, since
    // other processes may have run, and what is needed for the first time may have been loaded.
    if run(input, CLOCK_MONOTONIC) > longest {
        let time = run(input, CLOCK_THREAD_CPUTIME_ID)
        if time > longest { stop("\(time / 1_000) us for one input") }
    }
    guard Program.defect == .overread, count >= 8 else { return 0 }
    return overread(input)
}

/// libFuzzer has made its tables when it runs the first input.
private let zerosGivenBack: Void = Memory.giveBackZeros()

/// Runs the target and returns how long it took on the clock, in nanoseconds.
private func run(_ input: [UInt8], _ clock: clockid_t) -> Int {
    let start = time(clock)
    do throws(FuzzFinding) {
        // It was checked before the first call.
        try Program.target?.run(input, defect: Program.defect)
    } catch {
        stop("\(error)")
    }
    return time(clock) - start
}

private func time(_ clock: clockid_t) -> Int {
    var time = timespec()
    clock_gettime(clock, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Ends the process so that libFuzzer keeps the input; a trap of Swift's would print a trace through the sanitizer.
private func stop(_ text: String) -> Never {
    FileHandle.standardError.write(Data("found: \(text)\n".utf8))
    abort()
}

/// Reads the byte after a copy of the input.
@inline(never)
private func overread(_ input: [UInt8]) -> Int32 {
    let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: input.count)
    defer { copy.deallocate() }
    copy.initialize(from: input, count: input.count)
    // The answer depends on it, so that it is read.
    return copy[input.count] == 1 ? -1 : 0
}

import Dispatch
import Foundation
import LockstepHarness
import LockstepNode
import LockstepServer
import LockstepSimulator
import Synchronization

/// Runs seeds in processes of their own, so that one that crashes takes no other with it and is named.
struct SeedSupervisor {
    let selection: SeedSelection
    let first: UInt64
    let jobs: Int
    let keepsGoing: Bool
    private(set) var seconds = 0.0
    private(set) var crashes: [Crash] = []
    private var hashes: [UInt64: UInt64] = [:]
    /// Rung by the threads that read what workers say.
    private let news = DispatchSemaphore(value: 0)

    /// A seed whose process ended by a signal.
    struct Crash {
        var seed: UInt64
        var signal: Int32
        var errors: String
    }

    init(selection: SeedSelection, first: UInt64, jobs: Int, keepsGoing: Bool) {
        self.selection = selection
        self.first = first
        self.jobs = jobs
        self.keepsGoing = keepsGoing
    }

    /// Each seed with its trace's hash, in the order of the seeds, a line each.
    var hashLines: String {
        hashes.sorted { $0.key < $1.key }.map {
            "0x\(String($0.key, radix: 16)) \(String($0.value, radix: 16))\n"
        }.joined()
    }

    /// A worker process and what it has said so far; the pipes are read by threads of their own.
    private final class Worker {
        let process = Process()
        let number: Int
        /// The seed that it is at.
        var next: UInt64
        /// How many it is still to run; nil if only time ends it.
        var left: Int?
        let lines = Lines()
        let errors = Lines()

        init(number: Int, next: UInt64, left: Int?) {
            self.number = number
            self.next = next
            self.left = left
        }

        /// It has ended, and all that it said is here.
        var isEnded: Bool { !process.isRunning && lines.isEnded && errors.isEnded }
    }

    /// Lines that came out of a pipe, which a thread of its own reads to its end.
    private final class Lines: Sendable {
        private let bytes = Mutex(Data())
        private let end = Mutex(false)

        var isEnded: Bool { end.withLock { $0 } }

        func read(_ pipe: Pipe, news: DispatchSemaphore) {
            let handle = pipe.fileHandleForReading
            Thread.detachNewThread { [self] in
                while true {
                    // Waits until there is something; nothing is the end.
                    let new = handle.availableData
                    guard !new.isEmpty else { break }
                    bytes.withLock { $0.append(new) }
                    news.signal()
                }
                end.withLock { $0 = true }
                news.signal()
            }
        }

        func take() -> [Data] {
            bytes.withLock { bytes in
                guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
                let whole = bytes[...end]
                bytes = Data(bytes[(end + 1)...])
                return whole.split(separator: UInt8(ascii: "\n")).map { Data($0) }
            }
        }

        var text: String { bytes.withLock { String(decoding: $0.suffix(1 << 16), as: UTF8.self) } }
    }

    mutating func run() throws -> SeedTotals {
        var totals = SeedTotals()
        let began = Date()
        var workers: [Worker] = []
        // An error leaves none behind.
        defer { stop(workers) }
        for number in 0..<jobs {
            let share = selection.count < 0 ? nil : (selection.count + jobs - 1 - number) / jobs
            if share == 0 { continue }
            let worker = Worker(number: number, next: first &+ UInt64(number), left: share)
            try start(worker)
            workers.append(worker)
        }
        var shown = began
        while !workers.isEmpty {
            // Whatever a worker says or its end comes at once; the clock is looked at four times a second.
            _ = news.wait(timeout: .now() + 0.25)
            seconds = Date().timeIntervalSince(began)
            for worker in workers { try take(from: worker, into: &totals) }
            let isOver = (selection.duration.map { seconds >= $0 } ?? false) || isFailed(totals)
            if isOver { stop(workers) }
            var next: [Worker] = []
            for worker in workers where worker.isEnded && !isOver {
                if let again = try ended(worker, into: &totals) { next.append(again) }
            }
            workers.removeAll(where: \.isEnded)
            workers += next
            guard Date().timeIntervalSince(shown) > (Output.isTerminal ? 1 : 60) else { continue }
            shown = Date()
            // Elsewhere a line a minute shows that it lives.
            if Output.isTerminal { Output.progress(progress(totals)) } else { Output.line(progress(totals)) }
        }
        Output.progress("")
        return totals
    }

    private func stop(_ workers: [Worker]) {
        // Not SIGTERM: a worker may have inherited a mask that blocks it.
        for worker in workers where worker.process.isRunning { kill(worker.process.processIdentifier, SIGKILL) }
    }

    private func isFailed(_ totals: SeedTotals) -> Bool {
        !keepsGoing && !(totals.failures.isEmpty && crashes.isEmpty)
    }

    private func progress(_ totals: SeedTotals) -> String {
        let rate = Double(totals.seeds) / max(seconds, 0.001) * 60
        return "\(totals.seeds) seeds, \(Int(rate)) a minute, virtual time \(Int(totals.virtualSeconds)) s, "
            + "\(totals.failures.count + crashes.count) failed"
    }

    private func start(_ worker: Worker) throws {
        let process = worker.process
        process.executableURL = URL(fileURLWithPath: ChildProcess.ownPath)
        process.arguments =
            ["simulate", "--worker", "\(worker.number)", "--jobs", "\(jobs)"]
            + (try selection.workerArguments(first: worker.next &- UInt64(worker.number), share: worker.left))
        process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        let output = Pipe()
        let errors = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        // Only the child writes; the pipe ends with it.
        try output.fileHandleForWriting.close()
        try errors.fileHandleForWriting.close()
        worker.lines.read(output, news: news)
        worker.errors.read(errors, news: news)
    }

    private mutating func take(from worker: Worker, into totals: inout SeedTotals) throws {
        for line in worker.lines.take() {
            let report = try SeedReport(line: line)
            totals.add(report)
            if keepsGoing, let promise = report.promise {
                Output.line("failed: seed 0x\(String(report.seed, radix: 16)), \(promise): \(report.text ?? "")")
            }
            hashes[report.seed] = report.traceHash
            worker.next = report.seed &+ UInt64(jobs)
            worker.left = worker.left.map { $0 - 1 }
        }
    }

    /// A worker has ended: all its seeds are done, or it crashed in the middle of one; then another takes the rest.
    private mutating func ended(_ worker: Worker, into totals: inout SeedTotals) throws -> Worker? {
        try take(from: worker, into: &totals)
        guard worker.process.terminationReason == .uncaughtSignal else {
            guard worker.process.terminationStatus == 0 else {
                throw CommandFailure(
                    "a worker failed with status \(worker.process.terminationStatus): \(worker.errors.text)")
            }
            if let left = worker.left, left != 0 {
                throw CommandFailure("a worker ended without a report of \(left) of its seeds: \(worker.errors.text)")
            }
            return nil
        }
        crashes.append(
            Crash(seed: worker.next, signal: worker.process.terminationStatus, errors: worker.errors.text))
        let left = worker.left.map { $0 - 1 }
        guard keepsGoing, left != 0 else { return nil }
        let next = Worker(number: worker.number, next: worker.next &+ UInt64(jobs), left: left)
        try start(next)
        return next
    }
}

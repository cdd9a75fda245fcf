internal import Foundation
internal import Metrics
internal import Synchronization

/// What the system tells of this process, under the names that Prometheus's own libraries use; one a process.
///
/// Read when somebody asks for metrics. On systems without `/proc` there is nothing.
final class ProcessMetrics: Sendable {
    private let resident: Gauge
    private let virtual: Gauge
    private let descriptors: Gauge
    private let descriptorBound: Gauge
    private let started: Gauge
    private let processor: FloatingPointCounter
    /// Seconds that were added to ``processor``.
    private let seen = Mutex(0.0)

    /// Names and meanings of all.
    static let help = [
        "process_resident_memory_bytes": "Memory of the process that is in RAM.",
        "process_virtual_memory_bytes": "Memory that the process has mapped.",
        "process_open_fds": "Open descriptors of the process.",
        "process_max_fds": "The most descriptors that the process may open.",
        "process_start_time_seconds": "When the process started, in seconds since 1970.",
        "process_cpu_seconds_total": "Time of processors that the process has used.",
    ]

    init(_ factory: any MetricsFactory) {
        resident = Gauge(label: "process_resident_memory_bytes", factory: factory)
        virtual = Gauge(label: "process_virtual_memory_bytes", factory: factory)
        descriptors = Gauge(label: "process_open_fds", factory: factory)
        descriptorBound = Gauge(label: "process_max_fds", factory: factory)
        started = Gauge(label: "process_start_time_seconds", factory: factory)
        processor = FloatingPointCounter(label: "process_cpu_seconds_total", factory: factory)
    }

    /// Reads all anew.
    func observe() {
        let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        let page = sysconf(Int32(_SC_PAGESIZE))
        let memory = Self.words(of: "/proc/self/statm").compactMap { Int($0) }
        if memory.count > 1 {
            virtual.record(memory[0] * page)
            resident.record(memory[1] * page)
        }
        // What comes after the program's name, which may hold anything; the first word is field 3.
        let words = Self.text(of: "/proc/self/stat").split(separator: ")").last?.split(separator: " ") ?? []
        if words.count > 19, let user = Double(words[11]), let system = Double(words[12]), let start = Double(words[19])
        {
            let seconds = (user + system) / ticks
            processor.increment(
                by: seen.withLock { seen in
                    defer { seen = max(seen, seconds) }
                    return max(0, seconds - seen)
                })
            if let boot = Self.boot { started.record(boot + start / ticks) }
        }
        if let count = Self.count(in: "/proc/self/fd") { descriptors.record(count) }
        let bounds = Self.text(of: "/proc/self/limits").split(separator: "\n").first { $0.hasPrefix("Max open files") }
        if let bound = bounds?.split(separator: " ").dropFirst(3).first.flatMap({ Int($0) }) {
            descriptorBound.record(bound)
        }
    }

    /// When the host started, in seconds since 1970.
    private static let boot = text(of: "/proc/stat").split(separator: "\n").first { $0.hasPrefix("btime ") }
        .flatMap { Double($0.dropFirst(6)) }

    private static func text(of path: String) -> String {
        // A system without this file has nothing to show here.
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }

    private static func words(of path: String) -> [Substring] { text(of: path).split { $0 == " " || $0 == "\n" } }

    /// Counts without a list, since a primary has thousands.
    private static func count(in folder: String) -> Int? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        // Itself, its parent, and the descriptor of this look.
        return max(0, count - 3)
    }
}

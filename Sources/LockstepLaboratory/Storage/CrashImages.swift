import Foundation
import LockstepCore
import Synchronization

/// Builds what crashes would leave at the places of a trace, and has each image judged.
package struct CrashImages: Sendable {
    /// What came of it.
    package struct Result: Codable, Sendable {
        /// Calls that changed or synced something in the folder.
        package var calls = 0
        /// Places of the trace at which images were built.
        package var cuts = 0
        package var lives = 0
        package var steps = 0
        /// Images that were opened, by kind.
        package var images: [String: Int] = [:]
        /// Images that were left out, since the same bytes were judged before with the same notes.
        package var equal = 0
        package var violations: [String] = []
        package var violationCount = 0
        package var total: Int { images.values.reduce(0, +) }

        package init() {}
    }

    /// A lie that is told to the judge, who must notice.
    package enum Lie: String, CaseIterable, Sendable {
        /// A step is said to be acknowledged that was not begun.
        case acknowledgement
        /// A batch of the script is another than the one that was written.
        case record
    }

    private struct Case: Sendable {
        var name: String
        var files: [String: [UInt8]]
        var notes: StorageNotes
        var goesOn: Bool
    }

    private let judge: StorageJudge
    private let scratch: String
    /// Where the files of images that broke a promise are kept; nil keeps none.
    private let keep: String?
    private let lie: Lie?
    private static let workers = 2
    private static let violationsKept = 20
    /// So many events of a process that goes on after a kill are its recovery, which up to half of the images are of.
    private static let recoveryEvents = 80
    /// A place has four images, of which one is mostly equal to another.
    private static let imagesOfAPlace = 2.8

    /// `scratch` is a folder in memory, for speed.
    package init(_ script: StorageScript, scratch: String, keep: String? = nil, lie: Lie? = nil) {
        judge = StorageJudge(script)
        self.scratch = scratch
        self.keep = keep
        self.lie = lie
    }

    /// Judges up to `limit` images: of each place if they suffice, or else of places that the seed chooses, recoveries
    /// and the rest apart.
    ///
    /// With `untilFirst` none are added once one has broken a promise.
    package func run(
        _ recording: StorageRecording, limit: Int, seed: UInt64, untilFirst: Bool = false
    ) throws -> Result {
        var result = Result()
        result.lives = recording.lives.count
        result.calls = recording.lives.reduce(0) { $0 + $1.trace.callCount }
        result.steps = judge.script.steps.count
        let places = Self.places(of: recording)
        let recovery = min(Double(limit) / 2, Double(places.recovery) * Self.imagesOfAPlace)
        let recoveryShare = recovery / Double(max(1, places.recovery)) / Self.imagesOfAPlace
        let share = min(1, (Double(limit) - recovery) / Double(max(1, places.other)) / Self.imagesOfAPlace)
        var random = SplitMix64(seed: seed)
        var seen: Set<Int> = []
        var cases: [Case] = []
        var folder = RecordedFolder()
        for (life, lived) in recording.lives.enumerated() {
            for (index, event) in lived.trace.events.enumerated() {
                let hasChanged = folder.apply(event)
                let wanted = Self.isRecovery(life, index) ? recoveryShare : share
                let isWanted = Double(random.next(below: 1 << 32)) < wanted * Double(1 << 32)
                let isDone = result.total >= limit || untilFirst && result.violationCount > 0
                guard hasChanged, isWanted, !isDone else { continue }
                result.cuts += 1
                add(
                    "life \(life + 1), event \(index + 1)", folder, limit: limit - result.total, &random, &seen, &cases,
                    &result)
                if cases.count >= 64 { judgeAll(&cases, &result) }
            }
            try folder.end(with: lived.trace.unfinished, files: lived.files, notes: lived.notes)
        }
        judgeAll(&cases, &result)
        return result
    }

    private static func isRecovery(_ life: Int, _ event: Int) -> Bool { life > 0 && event < recoveryEvents }

    /// How many places there are after which a crash leaves something else than before.
    private static func places(of recording: StorageRecording) -> (recovery: Int, other: Int) {
        var folder = RecordedFolder()
        var places = (recovery: 0, other: 0)
        for (life, lived) in recording.lives.enumerated() {
            for (index, event) in lived.trace.events.enumerated() where folder.apply(event) {
                if isRecovery(life, index) { places.recovery += 1 } else { places.other += 1 }
            }
        }
        return places
    }

    private func add(
        _ place: String, _ folder: RecordedFolder, limit: Int, _ random: inout SplitMix64, _ seen: inout Set<Int>,
        _ cases: inout [Case], _ result: inout Result
    ) {
        for (number, kind) in RecordedFolder.Image.allCases.enumerated() where number < limit {
            let seed = random.next()
            if folder.isSettled, kind != .everything { continue }
            var draw = SplitMix64(seed: seed)
            let files = folder.image(kind, using: &draw)
            guard seen.insert(Self.fingerprint(files, folder.notes)).inserted else {
                result.equal += 1
                continue
            }
            result.images[kind.rawValue, default: 0] += 1
            cases.append(
                Case(
                    name: "\(place), \(kind.rawValue)", files: files, notes: told(folder.notes),
                    goesOn: seed % 4 == 0))
        }
    }

    private func told(_ notes: StorageNotes) -> StorageNotes {
        guard lie == .acknowledgement, let begun = notes.begun else { return notes }
        let next = judge.script.steps.indices.dropFirst(begun + 1).first {
            judge.script.steps[$0].head != judge.script.steps[begun].head
        }
        return next.map { StorageNotes(lines: "d \($0)") } ?? notes
    }

    private static func fingerprint(_ files: [String: [UInt8]], _ notes: StorageNotes) -> Int {
        var hasher = Hasher()
        for (name, bytes) in files.sorted(by: { $0.key < $1.key }) {
            hasher.combine(name)
            hasher.combine(bytes.count)
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        }
        hasher.combine(notes)
        return hasher.finalize()
    }

    private func judgeAll(_ cases: inout [Case], _ result: inout Result) {
        let judged = cases
        cases = []
        let found = Mutex<[(Int, String)]>([])
        DispatchQueue.concurrentPerform(iterations: Self.workers) { worker in
            for index in stride(from: worker, to: judged.count, by: Self.workers) {
                if let wrong = judge(judged[index], worker) { found.withLock { $0.append((index, wrong)) } }
            }
        }
        for (index, wrong) in found.withLock({ $0 }).sorted(by: { $0.0 < $1.0 }) {
            result.violationCount += 1
            guard result.violations.count < Self.violationsKept else { continue }
            result.violations.append("\(judged[index].name): \(wrong)")
            if let keep { try? StorageFiles.write(judged[index].files, to: "\(keep)/\(result.violations.count)") }
        }
    }

    private func judge(_ one: Case, _ worker: Int) -> String? {
        let folder = "\(scratch)/image-\(worker)"
        do {
            // A process that traps leaves the image there, and the name.
            try StorageFiles.write(one.files, to: folder)
            try Data(one.name.utf8).write(to: URL(fileURLWithPath: "\(folder).name"))
        } catch { return "the image cannot be written: \(error)" }
        return judge.judge(folder, notes: one.notes, goesOn: one.goesOn)
    }
}

/// Writing and reading the files of a folder.
package enum StorageFiles {
    /// Makes the folder hold these files and nothing else.
    package static func write(_ files: [String: [UInt8]], to folder: String) throws {
        let manager = FileManager.default
        if !manager.fileExists(atPath: folder) {
            try manager.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        for name in try manager.contentsOfDirectory(atPath: folder) where files[name] == nil {
            try manager.removeItem(atPath: "\(folder)/\(name)")
        }
        for (name, bytes) in files { try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
    }

    /// The files of a folder, the index of the write-ahead log left out.
    package static func read(_ folder: String) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasSuffix("-shm") {
            files[name] = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
        }
        return files
    }
}

/// The traces of a writer's processes, one after the other, and what each left.
package struct StorageRecording: Sendable {
    package struct Life: Sendable {
        package var trace: SystemCallTrace
        package var files: [String: [UInt8]]
        package var notes: String
    }

    package private(set) var lives: [Life] = []

    /// Reads `1.trace`, `1.notes` and the folder `1.files`, then 2 and so on; `folder` and `notes` are what the writer
    /// was given.
    package init(_ path: String, folder: String, notes: String) throws {
        for life in 1... {
            guard let trace = FileManager.default.contents(atPath: "\(path)/\(life).trace") else { break }
            lives.append(
                Life(
                    trace: try SystemCallTrace([UInt8](trace), folder: folder, notes: notes),
                    files: try StorageFiles.read("\(path)/\(life).files"),
                    notes: try String(contentsOfFile: "\(path)/\(life).notes", encoding: .utf8)))
        }
    }
}

import ArgumentParser
import Foundation
import LockstepLaboratory
import LockstepServer

/// `lockstep-lab chaos storage`: what is tried with a journal's files; `deploy/storage-test` does the rest.
struct StorageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "storage", abstract: "Writes a journal by a seed, and judges what crashes and damage leave of it.",
        discussion: "The traces and the injected failures are made by deploy/storage-test; see docs/STORAGE-TESTS.md.",
        subcommands: [Write.self, Images.self, Damage.self, Judge.self, Defects.self])

    struct Scripted: ParsableArguments {
        @Option(help: "The seed of the script.")
        var seed: UInt64 = 1
        @Option(help: "How many steps the script has.", transform: Within.whole(1...1_000_000))
        var steps = 200
        @Flag(help: "The journal of a data node: commit numbers, tails, cuts and promises.")
        var arbitrated = false

        func script() throws -> StorageScript {
            try DefectSwitch.apply()
            return try StorageScript(seed: seed, steps: steps, isArbitrated: arbitrated)
        }
    }

    struct Write: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Drives a journal through the script, and notes what is begun and acknowledged.")

        @OptionGroup var scripted: Scripted
        @Option(help: "The folder of the journal; its path is absolute.")
        var folder: String
        @Option(help: "The file of notes; a writer goes on after what it says.")
        var notes: String

        func run() async throws {
            try await StorageWriter(try scripted.script(), folder: folder, notes: notes).run()
        }
    }

    struct Recorded: ParsableArguments {
        @Option(help: "The folder of the journal that was written.")
        var folder: String
        @Option(help: "The file of notes that was written.")
        var notes: String
        @Option(help: "Where the traces are: 1.trace, 1.notes, 1.files, and so on.")
        var recording: String
        @Option(help: "A folder in memory to work in.")
        var scratch = "/dev/shm"

        func read() throws -> StorageRecording { try StorageRecording(recording, folder: folder, notes: notes) }
    }

    struct Images: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Builds what crashes would leave at the places of a recording, and judges it.")

        @OptionGroup var scripted: Scripted
        @OptionGroup var recorded: Recorded
        @Option(help: "How many images at most.", transform: Within.whole(1...100_000_000))
        var count = 2_000
        @Option(help: "Where images are kept that broke a promise.")
        var keep: String?
        @Flag(help: "Judges no more once an image has broken a promise.")
        var untilFirst = false
        @Option(help: "A lie for the judge, who must find it: acknowledgement, record.")
        var lie: String?

        func run() throws {
            guard let told = lie.map({ CrashImages.Lie(rawValue: $0) }) ?? .some(nil) else {
                throw ValidationError("--lie is acknowledgement or record")
            }
            var script = try scripted.script()
            if told == .record { script.falsify() }
            let result = try CrashImages(script, scratch: recorded.scratch, keep: keep, lie: told).run(
                try recorded.read(), limit: count, seed: scripted.seed, untilFirst: untilFirst)
            try Output.json(result)
            if result.violationCount > 0 { throw CommandFailure("\(result.violationCount) images broke a promise") }
        }
    }
    struct Damage: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Damages the files of a recording, and puts older ones back.")

        @OptionGroup var scripted: Scripted
        @OptionGroup var recorded: Recorded
        @Option(help: "How often a file is damaged.", transform: Within.whole(0...100_000_000))
        var count = 200
        @Option(help: "How often older files are put back.", transform: Within.whole(0...100_000_000))
        var copies = 50

        func run() throws {
            var trials = try DamageTrials(
                try scripted.script(), try recorded.read(), scratch: recorded.scratch, seed: scripted.seed)
            let results = ["damage": trials.damage(count), "copies": trials.putBack(copies)]
            try Output.json(results)
            let silent = results.values.reduce(0) { $0 + $1.violationCount }
            if silent > 0 { throw CommandFailure("\(silent) times damage was not noticed") }
        }
    }

    struct Judge: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Judges folders that writers left whose calls failed: each FOLDER has its notes in FOLDER.notes.")

        @OptionGroup var scripted: Scripted
        @Argument(help: "Folders.")
        var folders: [String]

        func run() throws {
            let judge = StorageJudge(try scripted.script())
            var count = 0
            for folder in folders {
                let notes = StorageNotes(lines: try String(contentsOfFile: folder + ".notes", encoding: .utf8))
                var wrong = judge.judge(folder, notes: notes)
                if let step = notes.wrongSuccesses.first { wrong = "step \(step) was written after a failure (R-44)" }
                guard let wrong else { continue }
                Output.line("\(folder): \(wrong)")
                count += 1
            }
            if count > 0 { throw CommandFailure("\(count) folders broke a promise") }
        }
    }

    struct Defects: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Prints the planted defects of the journal, in a program that has them.")

        func run() throws {
            for defect in try DefectSwitch.ofStorage() { Output.line(defect) }
        }
    }
}

import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// Damages the files of a journal, or puts older ones back, and looks at what a start makes of it.
package struct DamageTrials: Sendable {
    /// What was done to a file.
    package enum Damage: String, CaseIterable, Sendable {
        case flippedBit, lostTail, zeroedSector, swappedPages, removed
    }

    /// What came of the trials.
    package struct Result: Codable, Sendable {
        /// By file, then by outcome.
        package var outcomes: [String: [String: Int]] = [:]
        /// By what was done.
        package var damages: [String: Int] = [:]
        package var trials = 0
        package var violations: [String] = []
        package var violationCount = 0

        package init() {}

        fileprivate mutating func count(_ file: String, _ damage: String, _ outcome: Outcome, _ what: String) {
            trials += 1
            damages[damage, default: 0] += 1
            outcomes[file, default: [:]][outcome.name, default: 0] += 1
            guard case .silent(let text) = outcome else { return }
            violationCount += 1
            if violations.count < 20 { violations.append("\(what): \(text)") }
        }
    }

    package enum Outcome: Hashable, Sendable {
        /// The start is refused with this code.
        case refused(String)
        /// The start is right, and the verification of all that is kept names the damage.
        case verified
        /// Everything is as it was written.
        case unharmed
        /// Older files without a newer mark lead to what they held: only peers can know more.
        case older
        /// Something else than what was written, without a word.
        case silent(String)

        var name: String {
            switch self {
            case .refused(let code): "refused: \(code)"
            case .verified: "found by the full verification"
            case .unharmed: "unharmed"
            case .older: "older, with its mark"
            case .silent: "SILENT"
            }
        }
    }

    /// A folder as it was at some place of a recording.
    private struct Moment: Sendable {
        var files: [String: [UInt8]]
        var notes: StorageNotes
    }

    private let judge: StorageJudge
    private let scratch: String
    private var moments: [Moment] = []
    private var random: SplitMix64

    private static let database = StorageScript.storeName + ".sqlite"
    private static let log = database + "-wal"
    private static let mark = StorageScript.storeName + ".mark"

    /// Takes moments of the recording at which something was just acknowledged, and the end.
    package init(_ script: StorageScript, _ recording: StorageRecording, scratch: String, seed: UInt64) throws {
        judge = StorageJudge(script)
        self.scratch = scratch
        random = SplitMix64(seed: seed ^ 0xDA3A_6E)
        var folder = RecordedFolder()
        var unused = random
        for lived in recording.lives {
            for event in lived.trace.events {
                _ = folder.apply(event)
                guard case .noted = event, (folder.notes.done ?? 0) > 10, folder.notes.done == folder.notes.begun,
                    random.next(below: 8) == 0
                else { continue }
                moments.append(Moment(files: folder.image(.everything, using: &unused), notes: folder.notes))
            }
            try folder.end(with: lived.trace.unfinished, files: lived.files, notes: lived.notes)
        }
        moments.append(Moment(files: folder.image(.everything, using: &unused), notes: folder.notes))
    }

    // MARK: - Damage

    /// Damages one file at a time, so many times.
    package mutating func damage(_ count: Int) -> Result {
        var result = Result()
        let names = [Self.database, Self.log, Self.mark, "node.json", "node.lock"]
        // Most of what can break is in the first two.
        let weights = names.enumerated().flatMap { Array(repeating: $0.element, count: $0.offset < 2 ? 5 : 2) }
        while result.trials < count {
            var moment = moments[Int(random.next(below: UInt64(moments.count)))]
            let name = weights[Int(random.next(below: UInt64(weights.count)))]
            guard var bytes = moment.files[name], !bytes.isEmpty else { continue }
            let damages: [Damage] = [.flippedBit, .flippedBit, .flippedBit, .flippedBit] + Damage.allCases
            let damage = damages[Int(random.next(below: UInt64(damages.count)))]
            let place = apply(damage, to: &bytes)
            moment.files[name] = damage == .removed ? nil : bytes
            result.count(
                name, damage.rawValue, outcome(moment), "\(name), \(damage.rawValue) at \(place), \(moment.notes)")
        }
        return result
    }

    private mutating func apply(_ damage: Damage, to bytes: inout [UInt8]) -> Int {
        let place = Int(random.next(below: UInt64(bytes.count)))
        let sector = place / RecordedFolder.sectorBytes * RecordedFolder.sectorBytes
        switch damage {
        case .flippedBit: bytes[place] ^= 1 << UInt8(random.next(below: 8))
        case .lostTail: bytes.removeLast(bytes.count - place)
        case .zeroedSector:
            for index in sector..<min(sector + RecordedFolder.sectorBytes, bytes.count) { bytes[index] = 0 }
        case .swappedPages:
            let pages = bytes.count / 4_096
            guard pages > 1 else { return place }
            let one = Int(random.next(below: UInt64(pages))) * 4_096
            let other = Int(random.next(below: UInt64(pages))) * 4_096
            for index in 0..<4_096 { bytes.swapAt(one + index, other + index) }
        case .removed: break
        }
        return place
    }

    /// `noted` says which operator's notes may be there, if they may be of another time than the log.
    private func outcome(_ moment: Moment, noted: StorageNotes? = nil) -> Outcome {
        let folder = "\(scratch)/damaged"
        do {
            try StorageFiles.write(moment.files, to: folder)
            let found = try judge.open(folder, notes: moment.notes, goesOn: false)
            return judge.compareAll(found, folder, notes: moment.notes, noted: noted) ?? .unharmed
        } catch let error as LockstepError {
            return refusal(error, moment)
        } catch {
            return .silent("\(error)")
        }
    }

    /// A refusal must name the file or folder; and a start that would make a missing journal must be refused, too.
    private func refusal(_ error: LockstepError, _ moment: Moment) -> Outcome {
        guard error.message.contains(scratch) else { return .silent("the refusal names no file: \(error.message)") }
        guard moment.files["node.json"] != nil || error.code != .invalidConfiguration else {
            return .refused("\(error.code)")
        }
        let folder = "\(scratch)/damaged"
        do {
            try StorageFiles.write(moment.files, to: folder)
            let found = try judge.open(folder, notes: moment.notes, goesOn: false, create: true)
            if let wrong = judge.compareAll(found, folder, notes: moment.notes) {
                guard case .refused = wrong else { return .silent("refused, but not if it may be made: \(wrong)") }
            }
        } catch is LockstepError {
            // Refused in both ways.
        } catch { return .silent("\(error)") }
        return .refused("\(error.code)")
    }

    // MARK: - Older files

    /// Puts older files in the place of newer ones, so many times: each of database, write-ahead log and side mark.
    package mutating func putBack(_ count: Int) -> Result {
        var result = Result()
        let groups = [[Self.database, Self.log], [Self.database], [Self.log], [Self.mark]]
        while result.trials < count, moments.count > 1 {
            let newer = 1 + Int(random.next(below: UInt64(moments.count - 1)))
            let older = Int(random.next(below: UInt64(newer)))
            var chosen = groups[Int(random.next(below: UInt64(groups.count)))]
            if chosen[0] != Self.mark, random.next(below: 3) == 0 { chosen.append(Self.mark) }
            var moment = moments[newer]
            for name in chosen { moment.files[name] = moments[older].files[name] }
            guard moment.files != moments[newer].files else { continue }
            var found = outcome(moment)
            if case .silent = found, chosen.contains(Self.mark) {
                // Nothing is left that knows more: it must be exactly what was there at some time since.
                let since = (moments[older].notes.done ?? 0)...(moments[newer].notes.done ?? 0)
                let noted = StorageNotes(lines: "b \(since.upperBound)\nd \(since.lowerBound)")
                let isOld = since.contains { step in
                    moment.notes = StorageNotes(lines: "d \(step)")
                    return [.unharmed, .verified].contains(outcome(moment, noted: noted))
                }
                if isOld { found = .older }
            }
            result.count(
                chosen.map { $0.replacing(StorageScript.storeName, with: "") }.joined(separator: " + "), "olderCopy",
                found,
                "\(chosen) of \(moments[older].notes) in the place of those of \(moments[newer].notes)")
        }
        return result
    }
}

extension StorageJudge {
    /// How what was found differs from what was written: the log, the note, `node.json` and everything that is kept for
    /// late replicas; nil if it does not.
    ///
    /// A snapshot that is gone does not count, since the batches that lead to the same are there.
    func compareAll(
        _ found: Opened, _ folder: String, notes: StorageNotes, noted: StorageNotes? = nil
    ) -> DamageTrials.Outcome? {
        let wrong = compare(found.log, notes: notes, demandsSnapshot: false)
        if let wrong = wrong ?? compare(found.note, notes: noted ?? notes) { return .silent(wrong) }
        do {
            let identity = try NodeFolder(folder).identity()
            guard identity.node == StorageScript.identity.node, identity.cluster == StorageScript.identity.cluster,
                identity.stores == StorageScript.identity.stores
            else { return .silent("node.json says \(identity)") }
            let reader = try SQLiteJournalReader(folder: folder, storeName: StorageScript.storeName)
            defer { try? reader.close() }  // Nothing was written.
            guard try reader.verifyAll().isEmpty else { return .verified }
            for snapshot in try reader.snapshots() {
                let content = try reader.snapshot(atOrBelow: snapshot.position.sequence)
                guard let link = script.places[snapshot.position], content?.state == script.state(at: link) else {
                    return .silent("the snapshot at \(snapshot.position) is another one")
                }
            }
            var wrong: Position?
            try reader.batches(after: .zero) { batch in
                if script.places[batch.position].map({ script.links[$0].batch }) != batch { wrong = batch.position }
            }
            return wrong.map { .silent("the batch at \($0) is another one") }
        } catch let error as LockstepError {
            return .refused("\(error.code)")
        } catch {
            return .silent("\(error)")
        }
    }
}

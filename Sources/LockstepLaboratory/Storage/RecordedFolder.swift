import Foundation
package import LockstepCore

/// The files of one folder as a crash could leave them, followed along a trace.
///
/// The model is that of POSIX and no kinder: what was written to a file is durable when a sync of that file, which began
/// after the write, has ended; a name is durable when a sync of the folder has. Until then each write, truncation and
/// change of a name may have reached the disk or not, whatever the order. Of a write, each sector of 512 bytes may.
package struct RecordedFolder: Sendable {
    package enum Image: String, CaseIterable, Hashable, Sendable {
        /// All that was written: the process was killed, the machine went on.
        case everything
        /// Only what was synced.
        case synced
        /// Of what was not synced, some writes.
        case subset
        /// Of what was not synced, some sectors.
        case torn
    }

    package static let sectorBytes = 512

    private enum Change: Sendable {
        case write(Int, [UInt8])
        case truncate(Int)

        func apply(to bytes: inout [UInt8]) {
            switch self {
            case .write(let offset, let data): RecordedFolder.write(data[...], at: offset, to: &bytes)
            case .truncate(let size): RecordedFolder.resize(&bytes, size)
            }
        }
    }

    private struct File: Sendable {
        var now: [UInt8] = []
        var durable: [UInt8] = []
        /// Not durable yet, in order.
        var pending: [Change] = []
        /// How many changes became durable before.
        var settled = 0
    }

    private enum NameChange: Hashable, Sendable {
        case set(String, Int)
        case remove(String)
    }

    private var files: [Int: File] = [:]
    private var names: [String: Int] = [:]
    private var durableNames: [String: Int] = [:]
    private var pendingNames: [NameChange] = []
    private var settledNames = 0
    /// What a sync that is under way covers: of which file, nil for the folder, how many changes.
    private var syncs: [Int: (file: Int?, through: Int)] = [:]
    /// What is acknowledged so far.
    package private(set) var notes = StorageNotes()

    package init() {}

    /// Whether a crash now could leave anything else than ``Image/everything``.
    package var isSettled: Bool {
        pendingNames.isEmpty && names.values.allSatisfy { files[$0]?.pending.isEmpty ?? true }
    }

    /// Takes over what the process did next; false if no image can differ from those before.
    package mutating func apply(_ event: SystemCallTrace.Event) -> Bool {
        switch event {
        case .noted(let line): notes.add(line)
        case .opened(let name, let truncates):
            if let file = names[name] {
                guard truncates, files[file]?.now.isEmpty == false else { return false }
                change(file, .truncate(0))
                return true
            }
            guard name != "" else { return false }
            let file = files.count
            files[file] = File()
            change(.set(name, file))
        case .wrote(let name, let offset, let bytes): if let file = names[name] { change(file, .write(offset, bytes)) }
        case .truncated(let name, let size): if let file = names[name] { change(file, .truncate(size)) }
        case .unlinked(let name): change(.remove(name))
        case .renamed(let from, let to):
            guard let file = names[from] else { return false }
            change(.set(to, file))
            change(.remove(from))
        case .syncBegan(let name, let token):
            if name == "" {
                syncs[token] = (nil, settledNames + pendingNames.count)
            } else if let file = names[name], let content = files[file] {
                syncs[token] = (file, content.settled + content.pending.count)
            }
            return false
        case .syncEnded(_, let token):
            guard let sync = syncs.removeValue(forKey: token) else { return false }
            return settle(sync.file, through: sync.through)
        }
        return true
    }

    private mutating func change(_ file: Int, _ change: Change) {
        change.apply(to: &files[file, default: File()].now)
        files[file, default: File()].pending.append(change)
    }

    private mutating func change(_ change: NameChange) {
        Self.apply(change, to: &names)
        pendingNames.append(change)
    }

    private mutating func settle(_ file: Int?, through count: Int) -> Bool {
        guard let file else {
            let ready = max(0, count - settledNames)
            for change in pendingNames.prefix(ready) { Self.apply(change, to: &durableNames) }
            pendingNames.removeFirst(ready)
            settledNames += ready
            return ready > 0
        }
        guard var content = files.removeValue(forKey: file) else { return false }
        let ready = max(0, count - content.settled)
        for change in content.pending.prefix(ready) { change.apply(to: &content.durable) }
        content.pending.removeFirst(ready)
        content.settled += ready
        files[file] = content
        return ready > 0
    }

    // MARK: - Images

    /// What a crash leaves: names with contents.
    package func image(_ image: Image, using random: inout SplitMix64) -> [String: [UInt8]] {
        switch image {
        case .everything: return names.compactMapValues { files[$0]?.now }
        case .synced: return durableNames.compactMapValues { files[$0]?.durable }
        case .subset, .torn:
            // Mostly lost, as often as not, mostly there.
            let share = [2, 5, 8][Int(random.next(below: 3))] as UInt64
            var kept = durableNames
            for change in pendingNames where random.next(below: 10) < share { Self.apply(change, to: &kept) }
            var left: [String: [UInt8]] = [:]
            for (name, file) in kept.sorted(by: { $0.key < $1.key }) {
                guard let file = files[file] else { continue }
                var bytes = file.durable
                for change in file.pending {
                    if image == .torn, case .write(let offset, let data) = change {
                        Self.tear(data, at: offset, share, &random, into: &bytes)
                    } else if random.next(below: 10) < share {
                        change.apply(to: &bytes)
                    }
                }
                left[name] = bytes
            }
            return left
        }
    }

    /// Writes some of the sectors that a write touches.
    private static func tear(
        _ data: [UInt8], at offset: Int, _ share: UInt64, _ random: inout SplitMix64, into bytes: inout [UInt8]
    ) {
        var place = offset
        while place < offset + data.count {
            let end = min((place / sectorBytes + 1) * sectorBytes, offset + data.count)
            if random.next(below: 10) < share { write(data[(place - offset)..<(end - offset)], at: place, to: &bytes) }
            place = end
        }
    }

    private static func write(_ data: ArraySlice<UInt8>, at offset: Int, to bytes: inout [UInt8]) {
        guard !data.isEmpty else { return }
        if bytes.count < offset + data.count { resize(&bytes, offset + data.count) }
        bytes.replaceSubrange(offset..<(offset + data.count), with: data)
    }

    private static func resize(_ bytes: inout [UInt8], _ size: Int) {
        if size < bytes.count { bytes.removeLast(bytes.count - size) }
        if size > bytes.count { bytes.append(contentsOf: repeatElement(0, count: size - bytes.count)) }
    }

    private static func apply(_ change: NameChange, to names: inout [String: Int]) {
        switch change {
        case .set(let name, let file): names[name] = file
        case .remove(let name): names[name] = nil
        }
    }

    // MARK: - The end of a process

    /// Takes over what of the calls in which the process ended has happened, as the files say that it left.
    ///
    /// Then this value must be equal to them. Throws the first difference, which would mean that the model or the trace
    /// is wrong.
    package mutating func end(
        with unfinished: [SystemCallTrace.Event], files actual: [String: [UInt8]], notes text: String
    )
        throws
    {
        for event in unfinished where Self.hasHappened(event, actual) { _ = apply(event) }
        syncs = [:]
        notes = StorageNotes(lines: text)
        var random = SplitMix64(seed: 0)
        let model = image(.everything, using: &random)
        guard Set(model.keys) == Set(actual.keys) else {
            throw Difference(
                description: "the files are \(actual.keys.sorted()), the trace leads to \(model.keys.sorted())")
        }
        for (name, bytes) in actual.sorted(by: { $0.key < $1.key }) where model[name] != bytes {
            throw Difference(description: "\(name) is not what the trace leads to")
        }
    }

    package struct Difference: Error, CustomStringConvertible {
        package var description: String
    }

    private static func hasHappened(_ event: SystemCallTrace.Event, _ actual: [String: [UInt8]]) -> Bool {
        switch event {
        case .opened(let name, _): actual[name] != nil
        case .wrote(let name, let offset, let bytes): actual[name]?.dropFirst(offset).starts(with: bytes) ?? false
        case .truncated(let name, let size): actual[name]?.count == size
        case .unlinked(let name): actual[name] == nil
        case .renamed(let from, let to): actual[from] == nil && actual[to] != nil
        case .syncBegan, .syncEnded, .noted: false
        }
    }
}

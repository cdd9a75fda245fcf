/// What a process did to the files of one folder, as a trace of strace tells it.
///
///     strace -f -xx -y -s 2000000 -o FILE -e trace=openat,write,pwrite64,ftruncate,fsync,fdatasync,unlink,rename,mkdir
///
/// Calls that failed changed nothing and are left out. A sync has two events, since another thread's write between its
/// beginning and its end need not be covered. Calls in which the process ended are told apart: whether they happened,
/// only the files themselves can say.
package struct SystemCallTrace: Sendable {
    package enum Event: Hashable, Sendable {
        /// Opened with a wish to be made; it may have been there.
        case opened(String, truncates: Bool)
        case wrote(String, offset: Int, [UInt8])
        case truncated(String, size: Int)
        case syncBegan(String, token: Int)
        case syncEnded(String, token: Int)
        /// Also of the folder itself, whose name is "".
        case unlinked(String)
        case renamed(from: String, to: String)
        /// What was written to the file of notes.
        case noted(String)
    }

    package private(set) var events: [Event] = []
    /// Calls that were under way when the process ended.
    package private(set) var unfinished: [Event] = []
    /// Calls that changed or synced something in the folder.
    package private(set) var callCount = 0

    private let folder: [UInt8]
    private let notes: [UInt8]
    /// Where the next plain `write` of an open file goes, by descriptor.
    private var offsets: [Int: Int] = [:]
    private var begun: [Int: (line: [UInt8], token: Int?)] = [:]
    private var tokens = 0

    /// A line that this reader does not understand, where leaving it out could hide a change.
    package struct Unreadable: Error, CustomStringConvertible {
        package var description: String
    }

    /// Reads a trace; `folder` and `notes` are absolute paths.
    package init(_ trace: [UInt8], folder: String, notes: String) throws {
        self.folder = [UInt8](folder.utf8)
        self.notes = [UInt8](notes.utf8)
        var lines = trace.split(separator: 10)
        if let last = trace.last, last != 10 {
            // strace ends itself as its process was ended, and leaves a call that had begun without the end of its line.
            lines[lines.count - 1] += [UInt8](" <unfinished ...>".utf8)
        }
        for line in lines { try add(line) }
        for (_, call) in begun.sorted(by: { $0.key < $1.key }) {
            guard let call = Call(call.line[...]) else { continue }
            if let event = try event(of: call, token: nil) { unfinished.append(event) }
        }
    }

    private mutating func add(_ line: ArraySlice<UInt8>) throws {
        guard let space = line.firstIndex(of: UInt8(ascii: " ")), let process = Self.number(line[..<space]) else {
            return
        }
        var rest = line[space...].drop { $0 == UInt8(ascii: " ") }
        if rest.starts(with: "+++".utf8) || rest.starts(with: "---".utf8) { return }
        if rest.ends(with: "<unfinished ...>") {
            rest = rest.dropLast("<unfinished ...>".utf8.count)
            var token: Int?
            if let call = Call(rest), call.isSync, let name = name(call.path(0)) {
                tokens += 1
                token = tokens
                events.append(.syncBegan(name, token: tokens))
            }
            begun[process] = (Array(rest), token)
            return
        }
        var token: Int?
        if rest.starts(with: "<... ".utf8) {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")), let start = begun.removeValue(forKey: process)
            else {
                throw Unreadable(description: "a call ends that did not begin: \(Self.text(rest.prefix(80)))")
            }
            token = start.token
            rest = (start.line + rest[(end + 1)...])[...]
        }
        guard let call = Call(rest) else { return }
        guard let result = call.result else {
            if call.isCutShort {
                // The process was ended meanwhile.
                if let event = try event(of: call, token: token) { unfinished.append(event) }
                return
            }
            throw Unreadable(description: "a call has no result: \(Self.text(rest.prefix(80)))")
        }
        guard result >= 0 else {
            // A sync that failed ends without effect.
            return
        }
        guard let event = try event(of: call, token: token) else { return }
        if case .noted = event {} else { callCount += 1 }
        events.append(event)
    }

    private mutating func event(of call: Call, token: Int?) throws -> Event? {
        switch call.name {
        case "openat":
            guard let path = call.string(1), let name = name(path) else { return nil }
            if let descriptor = call.result { offsets[descriptor] = 0 }
            let flags = Self.text(call.arguments[2])
            return flags.contains("O_CREAT") ? .opened(name, truncates: flags.contains("O_TRUNC")) : nil
        case "pwrite64":
            guard let name = try nameOfFile(call) else { return nil }
            guard let bytes = call.string(1), let offset = Self.number(call.arguments[3]) else { break }
            return .wrote(name, offset: offset, Array(bytes.prefix(call.result ?? bytes.count)))
        case "write":
            let path = call.path(0)
            guard let bytes = call.string(1), let descriptor = call.descriptor else { break }
            if path == notes { return .noted(Self.text(bytes[...])) }
            guard let name = try nameOfFile(call) else { return nil }
            guard let offset = offsets[descriptor] else { break }
            offsets[descriptor] = offset + (call.result ?? 0)
            return .wrote(name, offset: offset, Array(bytes.prefix(call.result ?? bytes.count)))
        case "ftruncate":
            guard let name = try nameOfFile(call) else { return nil }
            guard let size = Self.number(call.arguments[1]) else { break }
            return .truncated(name, size: size)
        case "fsync", "fdatasync":
            guard let name = try nameOfFile(call) else { return nil }
            if let token { return .syncEnded(name, token: token) }
            tokens += 1
            events.append(.syncBegan(name, token: tokens))
            return .syncEnded(name, token: tokens)
        case "unlink":
            return call.string(0).flatMap { name($0) }.map { .unlinked($0) }
        case "rename":
            guard let from = call.string(0).flatMap({ name($0) }), let to = call.string(1).flatMap({ name($0) }) else {
                return nil
            }
            return .renamed(from: from, to: to)
        default: return nil
        }
        throw Unreadable(description: "a call on the folder that cannot be read: \(call.name)")
    }

    /// The name in the folder; "" for the folder itself, nil for what is elsewhere or of no interest.
    private func name(_ path: [UInt8]?) -> String? {
        guard let path, path.starts(with: folder) else { return nil }
        if path.count == folder.count { return "" }
        guard path[folder.count] == UInt8(ascii: "/") else { return nil }
        let name = Self.text(path[(folder.count + 1)...])
        // The index of the write-ahead log is made anew at every start and is changed through memory.
        return name.hasSuffix("-shm") ? nil : name
    }

    /// The name of the file that a call's descriptor is of.
    private func nameOfFile(_ call: Call) throws -> String? {
        guard let path = call.path(0) else {
            // A file that no longer has a name can come back in no image; a pipe's name is not hexadecimal.
            let name = call.arguments.first ?? []
            if name.ends(with: "(deleted)") || !Self.text(name).contains("<\\x") { return nil }
            throw Unreadable(description: "a call on a file that is not named: \(call.name)")
        }
        return name(path)
    }

    static func number(_ bytes: ArraySlice<UInt8>) -> Int? { Int(text(bytes)) }

    static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}

/// One line of the trace, taken apart.
private struct Call {
    var name: String
    var arguments: [ArraySlice<UInt8>] = []
    var result: Int?
    /// The process ended in it: `= ?`, sometimes with a reason after it.
    var isCutShort = false

    var isSync: Bool { name == "fsync" || name == "fdatasync" }

    init?(_ line: ArraySlice<UInt8>) {
        guard let open = line.firstIndex(of: UInt8(ascii: "(")) else { return nil }
        name = SystemCallTrace.text(line[..<open])
        var end = line.endIndex
        // From the end, since a path may be followed by "(deleted)".
        if let equals = line.lastIndex(of: UInt8(ascii: "=")), line[(equals - 1)] == UInt8(ascii: " ") {
            let value = line[(equals + 1)...].drop { $0 == UInt8(ascii: " ") }
            isCutShort = value.first == UInt8(ascii: "?")
            result = SystemCallTrace.number(value.prefix { $0 == UInt8(ascii: "-") || (48...57).contains($0) })
            end = line[..<equals].lastIndex(of: UInt8(ascii: ")")) ?? equals
        }
        var start = open + 1
        var place = start
        while place < end {
            // Texts and paths are hexadecimal, so a comma divides.
            if line[place] == UInt8(ascii: ",") {
                arguments.append(line[start..<place])
                start = place + 2
            }
            place += 1
        }
        if start <= end { arguments.append(line[start..<end]) }
        // An unfinished call has a space after its last argument.
        while let last = arguments.last?.last, last == UInt8(ascii: " ") {
            arguments[arguments.count - 1].removeLast()
        }
    }

    var descriptor: Int? { arguments.first.flatMap { SystemCallTrace.number($0.prefix { $0 != UInt8(ascii: "<") }) } }

    /// The path that stands in angle brackets after a descriptor; nil also for a file that was deleted.
    func path(_ index: Int) -> [UInt8]? {
        guard index < arguments.count, let open = arguments[index].firstIndex(of: UInt8(ascii: "<")),
            arguments[index].last == UInt8(ascii: ">")
        else { return nil }
        return Self.bytes(arguments[index][(open + 1)...].dropLast())
    }

    /// A text in quotes.
    func string(_ index: Int) -> [UInt8]? {
        guard index < arguments.count, arguments[index].count >= 2, arguments[index].first == UInt8(ascii: "\""),
            arguments[index].last == UInt8(ascii: "\"")
        else { return nil }
        return Self.bytes(arguments[index].dropFirst().dropLast())
    }

    /// `\x6c\x6f` and so on.
    private static func bytes(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4)
        var place = text.startIndex
        while place < text.endIndex {
            guard text[place] == UInt8(ascii: "\\"), text[place + 1] == UInt8(ascii: "x"),
                let high = digit(text[place + 2]), let low = digit(text[place + 3])
            else { return nil }
            bytes.append(high << 4 | low)
            place += 4
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 97...102: byte - 87
        default: nil
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func ends(with text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }
}

import Foundation

/// The paragraphs of a Debian control file, such as /var/lib/dpkg/status and apt's lists of packages.
final class ControlFile {
    /// What is said of one package.
    struct Paragraph: Hashable {
        var package = ""
        var version = ""
        var architecture = ""
        /// The lines of the description, the short one first; in the last language that is there.
        var description: [UInt8] = []
        var isCut = false

        /// What tells it from the other paragraphs of the file.
        var key: String {
            [package, version, architecture].filter { !$0.isEmpty }.joined(separator: "_")
        }
    }

    private let limit: Int
    private let descriptor: Int32
    private var buffer: [UInt8] = []
    private var offset = 0
    private var isAtEnd = false
    /// Bytes that were read of the file.
    private(set) var bytesRead = 0

    /// Opens the file; nil if it cannot be opened.
    init?(path: String, limit: Int) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.limit = limit
        if descriptor < 0 { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether a file that begins so is a control file: its first line names a package.
    static func isControlFile(_ start: [UInt8]) -> Bool {
        let lines = start.split(separator: 10, omittingEmptySubsequences: true)
        return lines.first { $0.first != 35 }?.starts(with: "Package: ".utf8) ?? false
    }

    /// The next paragraph that names a package; nil at the end.
    ///
    /// - Throws: `TextFile.ReadFailure`.
    func next() throws -> Paragraph? {
        var paragraph = Paragraph()
        var field = ""
        while let line = try nextLine() {
            if line.allSatisfy({ $0 == 32 || $0 == 9 }) {
                if !paragraph.package.isEmpty { return paragraph }
                paragraph = Paragraph()
                continue
            }
            if line[0] == 35 { continue }
            if line[0] == 32 || line[0] == 9 {
                // A line of nothing but a full stop is an empty one.
                if field == "description" { add(line.dropFirst() == [46] ? [] : line.dropFirst(), to: &paragraph) }
                continue
            }
            guard let colon = line.firstIndex(of: 58) else { continue }
            field = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            let value = line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
            switch field {
            case "package": paragraph.package = Self.word(value)
            case "version": paragraph.version = Self.word(value)
            case "architecture": paragraph.architecture = Self.word(value)
            case "description-md5": break
            case _ where field == "description" || field.hasPrefix("description-"):
                field = "description"
                paragraph.description = []
                add(value, to: &paragraph)
            default: break
            }
        }
        return paragraph.package.isEmpty ? nil : paragraph
    }

    private static func word(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix(256), as: UTF8.self)
    }

    private func add(_ line: ArraySlice<UInt8>, to paragraph: inout Paragraph) {
        let room = limit - paragraph.description.count - 1
        if room < line.count { paragraph.isCut = true }
        guard room > 0 else { return }
        if !paragraph.description.isEmpty { paragraph.description.append(10) }
        paragraph.description += line.prefix(room)
    }

    /// The next line without its end, at most 64 KiB of it; nil at the end of the file.
    private func nextLine() throws -> [UInt8]? {
        var line: [UInt8] = []
        var isLine = false
        while true {
            if offset == buffer.count, !(try fill()) { return isLine ? line : nil }
            isLine = true
            let rest = buffer[offset...]
            let end = rest.firstIndex(of: 10)
            line += rest[..<(end ?? rest.endIndex)].prefix((1 << 16) - line.count)
            offset = end.map { $0 + 1 } ?? buffer.count
            if end != nil { return line }
        }
    }

    private func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var count = -1
        repeat { count = read(descriptor, &bytes, bytes.count) } while count < 0 && errno == EINTR
        guard count >= 0 else { throw TextFile.ReadFailure(message: systemMessage()) }
        isAtEnd = count == 0
        buffer = Array(bytes.prefix(count))
        offset = 0
        bytesRead += count
        return count > 0
    }
}

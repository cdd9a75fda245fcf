import Foundation

/// The bytes of a configuration file, and how they are to be read.
package struct ConfigurationText: Sendable, Equatable {
    /// The formats, which a file's ending tells apart.
    package enum Format: Sendable {
        case json
        case yaml
    }

    /// The most bytes of a file.
    ///
    /// What is larger is no configuration, and would be held in memory twice.
    package static let mostBytes = 65_536

    /// Where the file is, as it was named.
    package let path: String
    /// How it is to be read.
    let format: Format
    /// What it says.
    let text: String

    /// Reads a file.
    ///
    /// - Throws: ``CommandFailure`` if its ending is not known, or it cannot be read, is no file, is too large, or is not
    ///   UTF-8.
    package init(reading path: String) throws {
        let format = try Self.format(of: path)
        let bytes = try Self.bytes(of: path)
        guard bytes.count <= Self.mostBytes else {
            throw Self.refused(path, "it has more than \(Self.mostBytes) bytes, the most of a configuration")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let line = 1 + bytes.prefix(Self.validCount(bytes)).count { $0 == UInt8(ascii: "\n") }
            throw Self.refused(path, line: line, "it is not UTF-8")
        }
        self.init(path: path, format: format, text: text)
    }

    /// What a file of this name would say.
    package init(path: String, format: Format, text: String) {
        (self.path, self.format, self.text) = (path, format, text)
    }

    /// A failure that names the file, the line and the key, as far as there are any.
    static func refused(_ path: String, line: Int? = nil, key: String? = nil, _ reason: String) -> CommandFailure {
        let place = path + (line.map { ", line \($0)" } ?? "") + (key.map { ": \($0.prefix(64))" } ?? "")
        // Keys and values are the file's, and may hold what ends a line.
        let words = "\(place): \(reason)".split { $0.isNewline || $0 == "\0" }
        return CommandFailure(words.joined(separator: " "), status: .usage)
    }

    private static func format(of path: String) throws -> Format {
        switch URL(fileURLWithPath: path).pathExtension.lowercased() {
        case "json": return .json
        case "yaml", "yml": return .yaml
        default: throw refused(path, "a configuration's name ends with .yaml, .yml or .json")
        }
    }

    /// At most one byte more than is allowed.
    private static func bytes(of path: String) throws -> [UInt8] {
        func cannotBeRead() -> CommandFailure {
            refused(path, "it cannot be read: \(String(cString: strerror(errno)))")
        }
        // A pipe that nobody writes to must not hold the start up.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { throw cannotBeRead() }
        defer { close(file) }
        var about = stat()
        guard fstat(file, &about) == 0 else { throw cannotBeRead() }
        guard about.st_mode & S_IFMT == S_IFREG else { throw refused(path, "it is no file") }
        var bytes = [UInt8](repeating: 0, count: mostBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { room in
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
                return read(file, rest.baseAddress, rest.count)
            }
            if got == 0 { break }
            if got > 0 {
                count += got
            } else if errno != EINTR {
                throw cannotBeRead()
            }
        }
        return Array(bytes.prefix(count))
    }

    /// How many bytes there are before the first that is not UTF-8.
    private static func validCount(_ bytes: [UInt8]) -> Int {
        var (decoder, input) = (UTF8(), bytes.makeIterator())
        var count = 0
        while case .scalarValue(let scalar) = decoder.decode(&input) { count += UTF8.width(scalar) }
        return count
    }
}

import Foundation

/// What one file holds, as far as an index wants it.
enum TextFile {
    enum Content {
        /// - Parameter isCut: Whether the file has more than the limit.
        case text(String, isCut: Bool)
        /// It is not text, or a damaged archive.
        case binary
        case unreadable(String)
    }

    /// What the system says of a file.
    struct Mark: Hashable {
        var size: Int64
        /// Nanoseconds since 1970.
        var modified: Int64

        init(_ information: stat) {
            size = Int64(information.st_size)
            #if canImport(Darwin)
                let time = information.st_mtimespec
            #else
                let time = information.st_mtim
            #endif
            modified = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        }

        /// What the index keeps to see whether the file has changed since.
        ///
        /// A file of the last two seconds may change again and show the same time, so it is read once more next time.
        func stamp(limit: Int) -> String {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME, &now)
            let age = Int64(now.tv_sec) &* 1_000_000_000 &+ Int64(now.tv_nsec) &- modified
            return age.magnitude < 2_000_000_000 ? "" : "\(size) \(modified) \(limit)"
        }
    }

    /// Reads a regular file, at most `limit` bytes of text; a symbolic link is unreadable.
    static func read(path: String, limit: Int) -> Content {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return .unreadable(systemMessage()) }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0 else { return .unreadable(systemMessage()) }
        guard information.st_mode & S_IFMT == S_IFREG else { return .unreadable("it is no longer a file") }

        var bytes: [UInt8] = []
        // A little more shows whether there is more, and lets what was packed without effect reach the limit.
        let wanted = limit + limit / 1_024 + 1_024
        do { try append(to: &bytes, TextDecoding.sample, descriptor) } catch { return .unreadable(error.message) }
        let isPacked = path.hasSuffix(".gz") && bytes.starts(with: [0x1F, 0x8B])
        if !isPacked, !TextDecoding.mayBeText(bytes) { return .binary }
        bytes.reserveCapacity(min(wanted, max(0, Int(clamping: information.st_size))))
        do { try append(to: &bytes, wanted - bytes.count, descriptor) } catch { return .unreadable(error.message) }
        return isPacked ? unpack(bytes, wanted: wanted, limit: limit) : content(bytes, limit: limit)
    }

    /// The first bytes of a file.
    static func start(of path: String) throws(ReadFailure) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw ReadFailure(message: systemMessage()) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        try append(to: &bytes, TextDecoding.sample, descriptor)
        return bytes
    }

    private static func content(_ bytes: [UInt8], limit: Int) -> Content {
        let isCut = bytes.count > limit
        guard let text = TextDecoding.text(isCut ? Array(bytes.prefix(limit)) : bytes, isCut: isCut) else {
            return .binary
        }
        return .text(text, isCut: isCut)
    }

    private static func unpack(_ bytes: [UInt8], wanted: Int, limit: Int) -> Content {
        do {
            let (content, isCut) = try Gzip.decompress(bytes, limit: limit)
            guard let text = TextDecoding.text(content, isCut: isCut) else { return .binary }
            return .text(text, isCut: isCut)
        } catch {
            return .binary
        }
    }

    struct ReadFailure: Error {
        var message: String
    }

    /// Reads until so many bytes more are there, or the file ends.
    private static func append(
        to bytes: inout [UInt8], _ count: Int, _ descriptor: Int32
    ) throws(ReadFailure) {
        var buffer = [UInt8](repeating: 0, count: min(max(count, 1), 1 << 16))
        var left = count
        while left > 0 {
            let result = Foundation.read(descriptor, &buffer, min(left, buffer.count))
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else { throw ReadFailure(message: systemMessage()) }
            if result == 0 { return }
            bytes += buffer.prefix(result)
            left -= result
        }
    }
}

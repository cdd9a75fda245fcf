internal import Foundation

/// The file of an access list: JSON, the same on all nodes of a cluster.
///
/// A running node reads it again within a second of a change. A text that cannot be used changes nothing: the list from
/// before stays, and the node says so.
public struct AccessFile: Hashable, Sendable {
    /// Where the file is.
    public let path: String

    /// The largest text that is read: a list of the most entries has less.
    static let largestByteCount = 16 << 20

    /// Names a file, which is read when a node starts.
    ///
    /// - Parameter path: The file.
    public init(path: String) { self.path = path }

    /// Reads and checks the list.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, with one line that names the file and says what to
    ///   change. So is a file that everybody on the host may write.
    public func read() throws -> AccessList {
        let found = try stamp()
        guard found.mode & 0o002 == 0 else {
            throw failure("everybody on this host may write it: take that away, such as with chmod o-w")
        }
        guard found.size <= Self.largestByteCount else {
            throw failure("it has more than \(Self.largestByteCount >> 20) MiB")
        }
        let text: [UInt8]
        do { text = try Array(Data(contentsOf: URL(fileURLWithPath: path))) } catch {
            throw failure(Self.line(of: error))
        }
        do { return try AccessList(json: text) } catch let error as LockstepError {
            throw LockstepError(error.code, "\(path): \(error.message)", underlying: error)
        }
    }

    /// What tells one text of the file from another without reading it.
    struct Stamp: Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64
        var changeSeconds: Int64
        var changeNanoseconds: Int64
        var mode: UInt32
    }

    /// Looks at the file that the path leads to, also through a symbolic link.
    func stamp() throws -> Stamp {
        var info = stat()
        guard stat(path, &info) == 0 else { throw failure(String(cString: strerror(errno))) }
        guard info.st_mode & S_IFMT == S_IFREG else { throw failure("it is no file") }
        #if canImport(Darwin)
            let (written, changed) = (info.st_mtimespec, info.st_ctimespec)
        #else
            let (written, changed) = (info.st_mtim, info.st_ctim)
        #endif
        return Stamp(
            device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino), size: Int64(info.st_size),
            seconds: Int64(written.tv_sec), nanoseconds: Int64(written.tv_nsec),
            changeSeconds: Int64(changed.tv_sec), changeNanoseconds: Int64(changed.tv_nsec), mode: UInt32(info.st_mode))
    }

    private func failure(_ reason: String) -> LockstepError {
        LockstepError(.invalidConfiguration, "the access list \(path) cannot be used: \(reason)")
    }

    /// What a decoder's or the system's error says, in one line.
    static func line(of error: any Error) -> String {
        switch error {
        case DecodingError.dataCorrupted(let context): context.debugDescription.oneLine(context)
        case DecodingError.keyNotFound(_, let context), DecodingError.typeMismatch(_, let context),
            DecodingError.valueNotFound(_, let context):
            context.debugDescription.oneLine(context)
        default: AccessText.escaped("\(error)", count: 300)
        }
    }
}

extension String {
    fileprivate func oneLine(_ context: DecodingError.Context) -> String {
        let path = context.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }.joined(separator: ".")
        let cause = (context.underlyingError as NSError?)?.userInfo["NSDebugDescription"] as? String
        let text = [self, cause ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        return AccessText.escaped(path.isEmpty ? text : "\(path): \(text)", count: 300)
    }
}

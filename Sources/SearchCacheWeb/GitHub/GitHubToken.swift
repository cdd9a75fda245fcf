#if Web
    import Foundation
    import Lockstep

    /// A token: it can be sent, and cannot be printed.
    struct GitHubToken: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        private let text: String

        /// The longest file, in bytes.
        private static let fileBytes = 4_096

        /// Reads a token from a file that holds nothing else; blanks around it do not count.
        ///
        /// - Throws: ``LockstepError`` of code `invalidConfiguration`, without a word of what the file holds.
        init(file path: String) throws {
            func refuse(_ reason: String) -> LockstepError {
                LockstepError(.invalidConfiguration, "the token file \(path) \(reason)")
            }
            // Not blocked by a pipe that nobody writes to; it is refused below.
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw refuse("cannot be opened: \(String(cString: strerror(errno)))") }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            // Of what was opened, not of the path: nobody can exchange it in between.
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw refuse("is no file")
            }
            guard status.st_mode & 0o027 == 0 else {
                throw refuse(
                    "can be read by others, or written by its group (its mode is "
                        + "0\(String(status.st_mode & 0o777, radix: 8))); run chmod 600 on it, and replace the token")
            }
            let bytes: Data
            do { bytes = try handle.read(upToCount: Self.fileBytes + 1) ?? Data() } catch {
                throw refuse("cannot be read")
            }
            guard bytes.count <= Self.fileBytes else { throw refuse("has more than \(Self.fileBytes) bytes") }
            let token = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            guard !token.isEmpty else { throw refuse("is empty; put a token into it") }
            // What could end a header field, or is no text, is not sent.
            guard token.utf8.allSatisfy({ 0x21...0x7e ~= $0 }) else {
                throw refuse("holds something else than one token, in one line and without blanks in it")
            }
            text = token
        }

        /// The value of the header field `Authorization`.
        var authorization: String { "Bearer \(text)" }

        /// A text of somebody else without the token, should it have been put there.
        func removed(from other: String) -> String { other.replacing(text, with: "[token]") }

        var description: String { "[token]" }
        var debugDescription: String { description }
        var customMirror: Mirror { Mirror(self, children: []) }
    }
#endif

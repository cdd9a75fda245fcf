internal import Foundation

/// Files that nobody but their owner may read.
package enum SecretFile {
    /// Reads a file of at most so many bytes, if nobody else can read or replace what it says.
    package static func read(_ path: String, atMost mostBytes: Int) throws -> [UInt8] {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        var about = stat()
        guard fstat(descriptor, &about) == 0 else { throw unreadable(path) }
        // Of what was opened: a name may lead elsewhere a moment later.
        guard about.st_mode & S_IFMT == S_IFREG else { throw refused(path, "it is no regular file") }
        guard isTrusted(about.st_uid) else {
            throw refused(path, "it belongs to \(userName(about.st_uid)): run this as that user")
        }
        guard about.st_mode & 0o077 == 0 else {
            let mode = String(about.st_mode & 0o777, radix: 8)
            throw refused(
                path,
                "others than its owner may use it (mode \(mode)): chmod 600, and make new keys if somebody may have read it"
            )
        }
        var bytes = [UInt8](repeating: 0, count: mostBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { room in
                let rest = UnsafeMutableRawBufferPointer(rebasing: room[count...])
                return Foundation.read(descriptor, rest.baseAddress, rest.count)
            }
            if got == 0 { break }
            guard got > 0 || errno == EINTR else { throw unreadable(path) }
            count += max(0, got)
        }
        guard count <= mostBytes else { throw refused(path, "it has more than \(mostBytes) bytes") }
        return Array(bytes.prefix(count))
    }

    /// A link is followed only if one of those has made it who may own the file.
    private static func opened(_ path: String) throws -> Int32 {
        // A pipe that nobody writes to must not hold a start up.
        let flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC
        let descriptor = open(path, flags | O_NOFOLLOW)
        if descriptor >= 0 { return descriptor }
        guard errno == ELOOP else { throw unreadable(path) }
        var link = stat()
        guard lstat(path, &link) == 0 else { throw unreadable(path) }
        guard isTrusted(link.st_uid) else {
            throw refused(path, "it is a symbolic link of \(userName(link.st_uid)), who could make it lead elsewhere")
        }
        let followed = open(path, flags)
        guard followed >= 0 else { throw unreadable(path) }
        return followed
    }

    private static func isTrusted(_ user: uid_t) -> Bool { user == geteuid() || user == 0 }

    private static func userName(_ user: uid_t) -> String {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "user \(user)"
    }

    private static func unreadable(_ path: String) -> LockstepError {
        refused(path, "it cannot be read: \(String(cString: strerror(errno)))")
    }

    /// An error that names a key file, and nothing of what is in it.
    static func refused(_ path: String, _ reason: String) -> LockstepError {
        LockstepError(.invalidConfiguration, "\(path): \(reason)")
    }

    /// Makes a file of mode 0600 where none is: it survives a power cut, and is there as a whole or not at all.
    ///
    /// It is written beside its place, as `PATH.part`; what a killed command has left there is taken away. A failure
    /// leaves nothing.
    static func make(_ path: String, _ bytes: [UInt8]) throws {
        let part = path + ".part"
        // Made anew, since whoever could open what is there would read the secret.
        unlink(part)
        let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failed(path, "made") }
        defer { close(descriptor) }
        defer { unlink(part) }
        guard write(bytes, to: descriptor), fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else {
            throw failed(path, "written")
        }
        // Unlike a rename, a link never takes the place of a file.
        guard link(part, path) == 0 else {
            throw errno == EEXIST
                ? refused(path, "it is there already, and no key is written over: name another file")
                : failed(path, "made")
        }
        // Another command may have taken this one's part away, and made its own.
        var (own, made) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, stat(path, &made) == 0, own.st_dev == made.st_dev,
            own.st_ino == made.st_ino
        else { throw refused(path, "another command makes it at the same time: look at it, and try again") }
        guard syncFolder(of: path) else {
            let error = failed(path, "written")
            unlink(path)
            throw error
        }
    }

    /// The error of the system call before.
    private static func failed(_ path: String, _ what: String) -> LockstepError {
        refused(path, "it cannot be \(what): \(String(cString: strerror(errno)))")
    }

    /// Puts a file in the place of another, so that the change survives a power cut.
    static func replace(_ path: String, by next: String) throws {
        guard rename(next, path) == 0, syncFolder(of: path) else {
            throw refused(path, "it cannot be replaced: \(String(cString: strerror(errno)))")
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || (count < 0 && errno == EINTR) else { return false }
            rest = rest.dropFirst(max(0, count))
        }
        return true
    }

    private static func syncFolder(of path: String) -> Bool {
        let descriptor = open(FilePath.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}

/// Paths as they are typed, without asking the file system.
package enum FilePath {
    /// The folder that a path names a file in: what stands before its last slash, or the current folder.
    package static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

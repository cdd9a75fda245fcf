internal import Foundation

/// The files of a node's administration folder.
package struct AdministrationPath: Hashable, Sendable {
    package let folder: String
    /// The path of the socket.
    package var socket: String { folder + "/admin.ipc" }
    /// Locked as long as a node serves the socket: libzmq takes a path over without asking who listens there.
    package var lock: String { folder + "/admin.lock" }

    /// The longest path of a Unix socket (`sun_path` without its final zero).
    package static let longestPath = 107

    /// Checks the length of the path.
    package init(folder: String) throws {
        // By bytes, as the system reads a path: a mark that belongs to the next letter makes one letter of itself and "/".
        let bytes = folder.utf8
        let folder =
            bytes.last == UInt8(ascii: "/") && bytes.count > 1
            ? String(decoding: bytes.dropLast(), as: UTF8.self) : folder
        self.folder = folder
        guard socket.utf8.count <= Self.longestPath else {
            throw LockstepError(
                .invalidConfiguration,
                "the administration folder's path is too long: \(socket) has \(socket.utf8.count) bytes and a socket's "
                    + "path at most \(Self.longestPath); choose a shorter one")
        }
    }

    /// Makes the folder if it is missing, with mode 0700; one that others can enter is refused.
    package func prepare() throws {
        let code = mkdir(folder, 0o700) == 0 ? 0 : errno
        if code != 0, code != EEXIST {
            let advice = code == EACCES ? "; run the node as the user that owns the folder where it is to be" : ""
            throw LockstepError(
                .administration, "the administration folder \(folder) cannot be made: \(Self.reason(code))\(advice)")
        }
        var status = stat()
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw LockstepError(.administration, "\(folder) is no folder; choose another administration folder")
        }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw LockstepError(
                .administration,
                "whoever enters the administration folder controls the node: make it yours and run chmod 700 \(folder)")
        }
    }

    /// Takes the lock; the descriptor holds it until it is closed.
    package func takeLock() throws -> Int32 {
        let descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw LockstepError(.administration, "\(lock) cannot be opened: \(Self.reason(errno))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            Foundation.close(descriptor)
            // A node that has the lock and does not listen yet is not known by its number.
            var owner = "another node"
            if case .listening(let process?) = reach() { owner += " (process \(process))" }
            throw LockstepError(
                .addressInUse, "\(owner) serves \(socket): stop it, or give each node a folder of its own")
        }
        return descriptor
    }

    /// What a look at the socket finds.
    package enum Reach: Hashable, Sendable {
        /// A process listens there; its number, where the system tells.
        case listening(process: Int32?)
        /// There is no socket, or what is left of one that nobody serves.
        case nobody
        /// This user may not reach it; whose the folder is that bars the way.
        case forbidden(owner: String?)
        /// Its queue of connections is full, since nobody takes them.
        case full
        /// The system does not tell whether somebody listens; `reason` is its word.
        case unknown(reason: String)
    }

    /// Connects without a word: a node that starts at this moment is not disturbed, as it would be by a lock.
    package func reach() -> Reach {
        #if canImport(Darwin)
            let descriptor = Darwin.socket(AF_UNIX, SOCK_STREAM, 0)
        #else
            let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        guard descriptor >= 0 else { return .unknown(reason: Self.reason(errno)) }
        defer { Foundation.close(descriptor) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socket.utf8.prefix($0.count - 1)) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let outcome = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) }
        }
        guard outcome != 0 else { return .listening(process: Self.listener(descriptor)) }
        switch errno {
        case EACCES, EPERM: return .forbidden(owner: barrier)
        case EAGAIN: return .full
        case ENOENT, ECONNREFUSED: return .nobody
        case let other: return .unknown(reason: Self.reason(other))
        }
    }

    /// The process that listens at the other end.
    private static func listener(_ descriptor: Int32) -> Int32? {
        #if os(Linux)
            // `struct ucred`: the process, its user, its group.
            var credentials: (process: Int32, user: UInt32, group: UInt32) = (0, 0, 0)
            var length = socklen_t(MemoryLayout.size(ofValue: credentials))
            guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 else { return nil }
            return credentials.process > 0 ? credentials.process : nil
        #else
            return nil
        #endif
    }

    /// The owner of the first folder on the way that this user may not enter.
    private var barrier: String? {
        var path = folder
        var found: uid_t?
        while !path.isEmpty, path != "/", path != "." {
            var status = stat()
            if stat(path, &status) == 0 {
                if access(path, X_OK) != 0 { found = status.st_uid }
                break
            }
            path = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        }
        guard let found, let user = getpwuid(found) else { return nil }
        return String(cString: user.pointee.pw_name)
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

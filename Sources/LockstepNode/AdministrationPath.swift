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
        if mkdir(folder, 0o700) != 0, errno != EEXIST {
            throw LockstepError(
                .administration, "the administration folder \(folder) cannot be made: \(Self.reason(errno))")
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
            throw LockstepError(
                .addressInUse, "another node serves \(socket): give each node an administration folder of its own")
        }
        return descriptor
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

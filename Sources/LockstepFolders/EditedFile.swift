package import Foundation
import LockstepNode

/// A file that commands edit: one after the other, and each change is there as a whole or not at all.
package enum EditedFile {
    /// Reads a file, changes what it says, and puts the new text in its place.
    ///
    /// The folder is locked meanwhile, so that of two commands the later one sees what the earlier one wrote. Where the
    /// path is a symbolic link, what it leads to is replaced. The file keeps its mode, and its owner where this process may
    /// give files away.
    ///
    /// - Parameters:
    ///   - path: The file; it need not be there.
    ///   - patience: How long to wait for a command that edits a file of the same folder.
    ///   - change: Gets the text, nil if there is no file, and returns the new one; nil leaves all as it is.
    /// - Throws: ``LockstepError``, and what `change` throws; the file is then as it was.
    package static func change(
        _ path: String, patience: Duration = .seconds(5), _ change: (Data?) throws -> Data?
    ) throws {
        let file = resolved(path)
        let folder = open(FilePath.folder(of: file), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure("\(path) cannot be edited") }
        defer { close(folder) }
        let deadline = ContinuousClock.now + patience
        while flock(folder, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw failure("the folder of \(path) cannot be locked")
            }
            guard ContinuousClock.now < deadline else {
                throw LockstepError(
                    .administration,
                    "another command edits a file in the folder of \(path): try again when it has ended")
            }
            usleep(10_000)
        }
        let old = FileManager.default.fileExists(atPath: file) ? try Data(contentsOf: URL(fileURLWithPath: file)) : nil
        guard let new = try change(old), new != old else { return }
        try replace(file, new, in: folder)
    }

    private static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    private static func replace(_ file: String, _ data: Data, in folder: Int32) throws {
        var about = stat()
        let isThere = stat(file, &about) == 0
        let part = file + ".part"
        // What an interrupted command has left; the folder is locked.
        unlink(part)
        let descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isThere ? about.st_mode & 0o777 : 0o644)
        guard descriptor >= 0 else { throw failure("\(part) cannot be made") }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try handle.write(contentsOf: data)
            if isThere {
                guard fchmod(descriptor, about.st_mode & 0o777) == 0 else {
                    throw failure("\(part) cannot get its mode")
                }
                // Only root can give a file away, and its owner has to be able to read it.
                guard geteuid() != 0 || fchown(descriptor, about.st_uid, about.st_gid) == 0 else {
                    throw failure("\(part) cannot get its owner")
                }
            }
            try handle.synchronize()
            guard rename(part, file) == 0 else { throw failure("\(file) cannot be replaced") }
        } catch {
            unlink(part)
            throw error
        }
        guard fsync(folder) == 0 else { throw failure("the folder of \(file) cannot be synced") }
    }

    private static func failure(_ what: String) -> LockstepError {
        LockstepError(.administration, "\(what): \(String(cString: strerror(errno)))")
    }
}

import Foundation
package import LockstepNode
import LockstepSQLite

/// What is wrong with a folder that a user named, in words.
extension NodeFolder {
    /// The bytes of `node.json`.
    func identityBytes() throws -> Data {
        let descriptor = open(identityPath, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(errno) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do { return try file.readToEnd() ?? Data() } catch {
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
                throw damaged("it is a folder; put back the file of this node")
            }
            throw LockstepError(.journalFailed, "\(identityPath) cannot be read: look at the disk", underlying: error)
        }
    }

    func damaged(_ text: String) -> LockstepError {
        LockstepError(.journalDamaged, "\(identityPath) is damaged: \(text)")
    }

    private func unreadable(_ code: Int32) -> LockstepError {
        if let error = problem { return error }
        switch code {
        case EACCES, EPERM: return forbidden("read", identityPath)
        case ENOENT: break
        default:
            return LockstepError(.journalFailed, "\(identityPath) cannot be read: \(String(cString: strerror(code)))")
        }
        // A folder that cannot be listed has none that can be named.
        guard let stores = try? SQLiteJournalReader.stores(in: path), !stores.isEmpty else {
            return LockstepError(
                .invalidConfiguration,
                "\(path) is not a node's folder: run \"lockstep init --data \(path.shellWord)\" first")
        }
        return LockstepError(
            .journalDamaged,
            "\(path) has journals and no node.json: put back the file of this node, from a copy of the folder")
    }

    /// What is wrong with the folder's name; nil if nothing is.
    ///
    /// A variable that is not set gives an empty one.
    package var nameProblem: LockstepError? {
        guard path.isEmpty else { return nil }
        return LockstepError(.invalidConfiguration, "the name of the folder is empty; name one, such as data/primary")
    }

    /// Why the folder cannot be used at all; nil if it can be entered.
    package var problem: LockstepError? {
        if let nameProblem { return nameProblem }
        var status = stat()
        guard stat(path, &status) == 0 else {
            switch errno {
            case EACCES, EPERM: return forbidden("reach", path)
            case ENOENT:
                return LockstepError(
                    .invalidConfiguration,
                    "\(path) is not there: is the path right? \"lockstep init --data \(path.shellWord)\" makes a node's folder"
                )
            case ENOTDIR: return LockstepError(.invalidConfiguration, "\(path) cannot be: a part of it is a file")
            default:
                return LockstepError(
                    .invalidConfiguration, "\(path) cannot be used: \(String(cString: strerror(errno)))")
            }
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            return LockstepError(.invalidConfiguration, "\(path) is a file: name the node's folder")
        }
        guard access(path, X_OK) == 0 else { return forbidden("enter", path) }
        return nil
    }

    /// Says who may do what this user may not.
    private func forbidden(_ what: String, _ file: String) -> LockstepError {
        var status = stat()
        let owner = stat(file, &status) == 0 ? status.st_uid : nil
        return LockstepError(
            .administration, "no permission to \(what) \(file): \(advice(to: geteuid(), ownedBy: owner))")
    }

    /// What a user is told to do who may not use a file of the folder; `owner` is nil where nobody knows whose it is.
    package func advice(to user: UInt32, ownedBy owner: UInt32?) -> String {
        let usual = "run this as the user that the node runs as"
        guard let owner, owner != user else { return usual }
        guard owner != 0 else {
            // As root a node would make files that its own user may not use.
            return "it belongs to root: give it to the user that the node runs as (chown -R USER \(path.shellWord))"
        }
        guard let known = getpwuid(owner) else { return usual }
        let name = String(cString: known.pointee.pw_name)
        return "it belongs to \(name), so run this as that user (sudo -u \(name))"
    }
}

extension DecodingError {
    /// What is wrong with a JSON file, in a few plain words.
    package var plainText: String {
        switch self {
        case .keyNotFound(let key, _): return "\"\(key.stringValue)\" is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context): return Self.place(context)
        case .dataCorrupted(let context): return context.codingPath.isEmpty ? "it is no JSON" : Self.place(context)
        @unknown default: return "it is not what it should be"
        }
    }

    private static func place(_ context: Context) -> String {
        let path = context.codingPath.map(\.stringValue).joined(separator: ".")
        return path.isEmpty ? "it is of another form" : "\"\(path)\" is of another form"
    }
}

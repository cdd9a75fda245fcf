import Foundation
import LockstepFolders
import LockstepNode
import ZeroMQ

/// Which access list a command reads or changes.
struct AccessListPlace: ParsableArguments {
    @Option(help: "The access list; also LOCKSTEP_ACCESS.")
    var access: String?
    @Option(help: "A node's folder: the list that the node has.")
    var data: String?

    func validate() throws {
        guard access == nil || data == nil else {
            throw ValidationError("--access and --data name one list: leave one out")
        }
    }

    /// Whether a list is named on the command line.
    var isNamed: Bool { access != nil || data != nil }

    /// Where the list is.
    ///
    /// - Throws: ``CommandFailure`` if none is named, or the folder's node has none.
    func path() throws -> String {
        if let access { return access }
        if let data {
            let folder = NodeFolder(data)
            guard let path = try folder.identity().access.map(folder.resolved) else {
                throw CommandFailure("the node in \(data) has no access list: name one with --access", status: .usage)
            }
            return path
        }
        guard let path = ProcessInfo.processInfo.environment["LOCKSTEP_ACCESS"], !path.isEmpty else {
            throw ValidationError("name the access list with --access, or a node's folder with --data")
        }
        return path
    }

    /// Reads the list.
    func read() throws -> AccessList { try AccessFile(path: try path()).read() }

    /// Changes the list as a whole, while no other command does; says whether the file was made.
    ///
    /// - Parameters:
    ///   - makes: Whether a file that is not there is made.
    ///   - change: Changes the list; what it throws leaves the file as it was.
    /// - Returns: Whether the file was made.
    /// - Throws: What `change` throws, and what keeps the file from being read or written.
    func edit(makes: Bool = false, _ change: (inout AccessList) throws -> Void) throws -> Bool {
        try AccessList.edit(try path(), makes: makes, change)
    }
}

extension AccessList {
    /// Changes the list of a file as a whole, while no other command does; says whether the file was made.
    static func edit(_ path: String, makes: Bool, _ change: (inout AccessList) throws -> Void) throws -> Bool {
        var isMade = false
        try EditedFile.change(path) { data in
            guard data != nil || makes else {
                throw CommandFailure("there is no access list \(path): is the path right? \"keys allow\" makes one")
            }
            isMade = data == nil
            // A list that is refused at a node is not edited either: its mistake has to be found first.
            var list = data == nil ? AccessList.empty : try AccessFile(path: path).read()
            try change(&list)
            return Data(try list.json)
        }
        return isMade
    }

    /// Changes the entry of a name; nil: it is not in the list.
    ///
    /// - Throws: What `change` throws, and ``LockstepError`` if the list could not be used with the changed entry.
    mutating func change(_ name: String, _ change: (Entry?) throws -> Entry?) throws {
        let old = entries.first { $0.name == name }
        let others = entries.filter { $0.name != name }
        self = try AccessList(others + (try change(old).map { [$0] } ?? []), cluster: cluster)
    }
}

/// A public key on the command line: its 40 characters, or a file that has it.
enum PublicKeyArgument {
    /// Reads a key for a name.
    ///
    /// - Parameters:
    ///   - text: 40 characters of Z85, or the path of a key file, or of a file with the line of "keys show".
    ///   - name: Whose key it has to be, where a file says whose it is.
    /// - Returns: The key.
    /// - Throws: ``CommandFailure`` or ``LockstepError`` if there is none, or it is somebody else's.
    static func read(_ text: String, for name: String) throws -> CurvePublicKey {
        // A path may have 40 characters too, each of which a key can have.
        let isPath = FileManager.default.fileExists(atPath: text) || [".key", ".pub"].contains { text.hasSuffix($0) }
        if !isPath, let key = CurvePublicKey(z85: text) { return key }
        let line = try line(in: text)
        guard line.name == name else {
            throw CommandFailure("\(text) has the key of \(line.name), not of \(name)", status: .usage)
        }
        return line.key
    }

    private static func line(in path: String) throws -> PublicKeyLine {
        guard let file = FileHandle(forReadingAtPath: path) else {
            throw CommandFailure(
                "\(path) is neither a public key of 40 characters nor a file that can be read", status: .usage)
        }
        let bytes = try file.read(upToCount: 4_096) ?? Data()
        try file.close()
        let text = String(decoding: bytes, as: UTF8.self)
        if let line = PublicKeyLine(text) { return line }
        guard text.hasPrefix("lockstep-key ") else {
            throw CommandFailure(
                "\(path) has no public key: take what \"\(Output.programName) keys show\" prints", status: .usage)
        }
        return PublicKeyLine(try KeyFile(reading: path))
    }
}

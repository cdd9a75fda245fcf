internal import Foundation
internal import LockstepCore
public import ZeroMQ

/// A name and its key pair, as a file holds them that only its owner may read.
///
/// `lockstep keys new` makes the file. It is text, five lines: the form's version, the name, the public key, the secret
/// key, and a sum of them. Neither a description nor an error has any part of the secret.
public struct KeyFile: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Whose keys they are: 1 to 64 bytes, as a node's name.
    public let name: String
    /// The public key and its secret.
    public let pair: CurveKeyPair

    /// The version of the text's form.
    package static let version = 1
    /// More bytes than any key file has.
    private static let mostBytes = 512

    /// Reads a key file.
    ///
    /// The file must be a regular one of mode 0600 or 0400, and belong to the user of this process or to root. A symbolic
    /// link to it must belong to one of them too.
    ///
    /// - Parameter path: Where it is.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, which names the path and what to do.
    public init(reading path: String) throws {
        let bytes = try SecretFile.read(path, atMost: Self.mostBytes)
        guard let file = KeyFile(text: String(decoding: bytes, as: UTF8.self)) else {
            throw SecretFile.refused(
                path, "it is no key file of version \(Self.version), or is damaged; put back the file, or make new keys"
            )
        }
        self = file
    }

    /// Gives a key pair a name; nil if nobody can be called so.
    package init?(name: String, pair: CurveKeyPair) {
        guard NodeID(name) != nil else { return nil }
        self.name = name
        self.pair = pair
    }

    /// Reads the text of a key file; nil if it is none, or its two keys do not belong together.
    package init?(text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count == 6, lines[5].isEmpty, lines[0] == "lockstep-key \(Self.version)",
            lines[4] == "sum \(Self.sum(of: lines[..<4].joined(separator: "\n")))",
            let name = Self.value("name", lines[1]), let publicText = Self.value("public", lines[2]),
            let secretText = Self.value("secret", lines[3]), let publicKey = CurvePublicKey(z85: publicText),
            let secretKey = CurveSecretKey(z85: secretText),
            // Without CURVE in libzmq no key can be used.
            let pair = try? CurveKeyPair(secretKey: secretKey), pair.publicKey == publicKey
        else { return nil }
        self.init(name: name, pair: pair)
    }

    private static func sum(of text: String) -> String {
        let bytes = Array(text.utf8)
        var checksum = CRC32C()
        withBytes(of: bytes) { checksum.update($0, 0..<bytes.count) }
        return String(checksum.value, radix: 16)
    }

    private static func value(_ word: String, _ line: Substring) -> String? {
        guard line.hasPrefix(word + " ") else { return nil }
        return String(line.dropFirst(word.count + 1))
    }

    /// Makes new keys whose public text does not begin with "-", which a command line would take for an option.
    package static func newPair() throws(ZMQError) -> CurveKeyPair {
        while true {
            let pair = try CurveKeyPair.generate()
            if !pair.publicKey.z85.hasPrefix("-") { return pair }
        }
    }

    /// Makes new keys and their file, of mode 0600.
    ///
    /// - Parameters:
    ///   - name: Whose keys they are.
    ///   - path: Where the file is made; nothing may be there.
    /// - Returns: The keys.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, or what libzmq throws; nothing is left then.
    package static func make(name: String, at path: String) throws -> KeyFile {
        guard let file = KeyFile(name: name, pair: try newPair()) else {
            throw LockstepError(
                .invalidConfiguration,
                "\(name) cannot be a name: use 1 to 64 letters, digits, '-', '_' and '.'")
        }
        let text = """
            lockstep-key \(version)
            name \(name)
            public \(file.pair.publicKey.z85)
            secret \(file.pair.secretKey.z85)
            """
        try SecretFile.make(path, Array("\(text)\nsum \(sum(of: text))\n".utf8))
        return file
    }

    /// Puts a key file in the place of another.
    ///
    /// - Parameters:
    ///   - path: The file that is replaced.
    ///   - next: The file that takes its name.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`.
    package static func replace(_ path: String, by next: String) throws { try SecretFile.replace(path, by: next) }

    /// The name and the public key.
    public var description: String { "\(name) \(pair.publicKey)" }

    /// The name and the public key, so that no dump of a value that holds this has the secret.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "publicKey": pair.publicKey.z85]) }
}

/// A name and its public key in one line, as `lockstep keys show` prints it.
package struct PublicKeyLine: Hashable, Sendable, CustomStringConvertible {
    /// Whose key it is.
    package let name: String
    /// The key.
    package let key: CurvePublicKey

    package init(_ file: KeyFile) { (name, key) = (file.name, file.pair.publicKey) }

    /// Reads the line; nil if it is none.
    package init?(_ text: String) {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 4, words[0] == "lockstep-public", words[1] == "\(KeyFile.version)",
            NodeID(String(words[2])) != nil, let key = CurvePublicKey(z85: String(words[3]))
        else { return nil }
        (name, self.key) = (String(words[2]), key)
    }

    package var description: String { "lockstep-public \(KeyFile.version) \(name) \(key)" }
}

/// Why bytes are not what their reader expects.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong.
    public enum Problem: String, Hashable, Sendable {
        /// The bytes end before the value does.
        case truncated
        /// Bytes are left after the value.
        case trailingBytes = "trailing bytes"
        /// A number, a length or a case is outside its range.
        case outOfRange = "value out of range"
        /// A text is not UTF-8.
        case invalidText = "text is not UTF-8"
        /// The bytes do not start as a frame of Lockstep does.
        case wrongMagic = "wrong magic number"
        /// The frame's version is not spoken here.
        case wrongVersion = "wrong wire version"
        /// The frame belongs to another cluster.
        case wrongCluster = "wrong cluster"
        /// The length in the header is not the frame's.
        case wrongLength = "wrong length"
        /// The checksum does not match.
        case wrongChecksum = "wrong checksum"
        /// The kind of message, entry or case is not known here.
        case unknownKind = "unknown kind"
        /// Values contain each other more than ``ByteReader/deepest`` deep.
        case tooDeep = "values nested too deep"
        /// The value has fields that are not known here: a newer version wrote it.
        case unknownFields = "fields of a newer version"
        /// The value has fewer fields than any version that is read here wrote.
        case missingFields = "missing fields"
        /// The user's coding refused the bytes.
        case payload = "payload refused"
    }

    /// What is wrong.
    public let problem: Problem
    /// The byte at which it was noticed, from 0.
    public let offset: Int

    /// Makes an error for the byte at `offset`.
    public init(_ problem: Problem, at offset: Int) {
        self.problem = problem
        self.offset = offset
    }

    /// The problem and the byte.
    public var description: String { "\(problem.rawValue) at byte \(offset)" }
}

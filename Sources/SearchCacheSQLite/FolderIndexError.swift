/// Why an index of texts cannot be opened or brought up to date.
public struct FolderIndexError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What went wrong.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// There is no index, where one has to be there already.
        case missing
        /// The file is no index of this program; it was not changed.
        case foreign
        /// A newer version of this program made the index; it was not changed.
        case newer
        /// Another process brings the index up to date.
        case inUse
        /// The index was opened for reading.
        case readOnly
        /// What should be indexed is not there, or overlaps with something that is indexed already; or what should be
        /// forgotten is not in the index.
        case source
        /// The index's file cannot be read or written.
        case file
    }

    /// What went wrong.
    public let kind: Kind
    /// One line: what happened, and what to do about it.
    public let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The kind and the message.
    public var description: String { "\(kind.rawValue): \(message)" }
}

/// How far an update has come.
public struct IndexProgress: Hashable, Sendable {
    /// Files that were looked at, or paragraphs of a control file.
    public internal(set) var seen = 0
    /// Of those, the ones whose text is new in the index.
    public internal(set) var indexed = 0
    /// Bytes of what was looked at, as they are on the disk.
    public internal(set) var bytes: Int64 = 0
    /// How many files there are; nil for a control file, whose paragraphs nobody counts beforehand.
    public internal(set) var total: Int?
    /// How many bytes there are.
    public internal(set) var totalBytes: Int64 = 0

    /// What is done, from 0 to 1, by bytes.
    public var fraction: Double { totalBytes > 0 ? min(1, Double(bytes) / Double(totalBytes)) : 1 }
}

/// What an update did.
public struct IndexReport: Hashable, Sendable {
    /// Something that could not be read, and why.
    public struct Failure: Hashable, Sendable {
        /// The path below the folder; empty for the folder itself.
        public internal(set) var path: String
        /// The system's words.
        public internal(set) var reason: String
    }

    /// The most failures that are named; all are counted.
    public static let failuresNamed = 20

    /// Files that were looked at, or paragraphs of a control file.
    public internal(set) var seen = 0
    /// Texts that are new or have changed, and are in the index now.
    public internal(set) var indexed = 0
    /// Files that are as they were.
    public internal(set) var unchanged = 0
    /// Texts that are gone, and were taken out of the index.
    public internal(set) var removed = 0
    /// Files that are not text, of those that were read.
    public internal(set) var binary = 0
    /// Texts that were longer than the limit, of those that were read; the rest of them is not found.
    public internal(set) var cut = 0
    /// Paragraphs that were there before in the same file.
    public internal(set) var duplicates = 0
    /// Files and folders that could not be read.
    public internal(set) var unreadable = 0
    /// The first of those.
    public internal(set) var failures: [Failure] = []
    /// Bytes of UTF-8 of the texts that were indexed.
    public internal(set) var textBytes: Int64 = 0
    /// How long it took.
    public internal(set) var duration = Duration.zero

    mutating func fail(_ path: String, _ reason: String) {
        unreadable += 1
        if failures.count < Self.failuresNamed { failures.append(Failure(path: path, reason: reason)) }
    }
}

/// What an index holds.
public struct IndexContent: Hashable, Sendable {
    /// A folder or file that was indexed.
    public struct Source: Hashable, Sendable {
        /// Without symbolic links.
        public internal(set) var path: String
        /// How many texts are from there.
        public internal(set) var texts: Int
    }

    /// What was indexed, by their paths.
    public internal(set) var sources: [Source]
    /// How many texts there are.
    public internal(set) var texts: Int
    /// Grows with each change of a text.
    public internal(set) var generation: Int64
    /// Bytes of the file, without what waits in its write-ahead log.
    public internal(set) var bytes: Int64
}

import Lockstep

/// A place in a state at which two nodes, or two replays, have something else.
public struct StateDifference: Hashable, Sendable, CustomStringConvertible {
    /// The keys and indices that lead to it, such as `votes["Ada"]`.
    public let path: String
    /// What each has there: who, and the value in words if it is small, else its digest; `nothing` if it has none.
    public let values: [Value]

    /// What one of them has.
    public struct Value: Hashable, Sendable {
        /// A node's name, or a replay's.
        public let owner: String
        /// What it has, in at most 200 characters.
        public let text: String
    }

    /// The path and all values in one line.
    public var description: String {
        let values = values.map { "\($0.text) (\($0.owner))" }
        return "\(path.isEmpty ? "the state" : path): \(values.joined(separator: ", "))"
    }

    /// The most that are reported.
    static let limit = 16

    /// Where the states of several owners differ; the innermost places only.
    static func between(_ owners: [(name: String, parts: [StatePart])]) -> [StateDifference] {
        let tables = owners.map { owner in Dictionary(grouping: owner.parts, by: \.path) }
        var seen: Set<String> = []
        let paths = owners.flatMap { $0.parts.map(\.path) }.filter { seen.insert($0).inserted }
        let differing = paths.filter { path in
            let contents = tables.map { $0[path]?.map(\.content) }
            return contents.contains { $0 != contents[0] }
        }
        // A whole that differs because a part of it does would only repeat the part.
        let innermost = differing.filter { path in !differing.contains { isPart($0, of: path) } }
        return innermost.prefix(limit).map { path in
            let values = zip(owners, tables).map { owner, table in
                Value(owner: owner.name, text: text(table[path]))
            }
            return StateDifference(path: path, values: values)
        }
    }

    private static func isPart(_ path: String, of whole: String) -> Bool {
        guard path.count > whole.count, path.hasPrefix(whole) else { return false }
        return whole.isEmpty || path.dropFirst(whole.count).first == "." || path.dropFirst(whole.count).first == "["
    }

    private static func text(_ parts: [StatePart]?) -> String {
        guard let parts, let last = parts.last else { return "nothing" }
        let text = parts.compactMap(\.value).last ?? "digest \(last.content)"
        return text.count > 200 ? "\(text.prefix(200))…" : text
    }
}

/// A place in a state at which two nodes, or two replays, have something else.
///
/// ``StateChanges`` says what changed between two states of one node.
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
    package static let limit = 16

    /// Where the states of several owners differ; the innermost places only.
    package static func between(_ owners: [(name: String, parts: [StatePart])]) -> [StateDifference] {
        let comparison = PartComparison(owners.map(\.parts))
        return comparison.innermost.prefix(limit).map { path in
            let values = zip(owners, comparison.tables).map { owner, table in
                Value(owner: owner.name, text: table[path].map(PartComparison.text) ?? "nothing")
            }
            return StateDifference(path: path, values: values)
        }
    }
}

/// What several states' parts have in common and what not: the one place that compares them.
struct PartComparison {
    /// The parts of each state by their paths.
    let tables: [[String: [StatePart]]]
    /// The paths at which not all states have the same, in the order of the walks, without those of which a part
    /// differs: they would only repeat it.
    let innermost: [String]

    init(_ states: [[StatePart]]) {
        let tables = states.map { Dictionary(grouping: $0, by: \.path) }
        var seen: Set<String> = []
        let paths = states.flatMap { $0.map(\.path) }.filter { seen.insert($0).inserted }
        let differing = paths.filter { path in
            let contents = tables.map { $0[path]?.map(\.content) }
            return contents.contains { $0 != contents[0] }
        }
        let wholes = Set(differing.flatMap(Self.wholes))
        innermost = differing.filter { !wholes.contains($0) }
        self.tables = tables
    }

    /// The paths of everything of which `path` may be a part, the outermost first.
    ///
    /// A dot or a bracket inside a quoted key gives a path of nothing: brackets and quotes are not closed in it.
    static func wholes(of path: String) -> [String] {
        guard !path.isEmpty else { return [] }
        return [""] + path.indices.dropFirst().filter { ".[".contains(path[$0]) }.map { String(path[..<$0]) }
    }

    /// What is there, in at most 200 characters.
    static func text(_ parts: [StatePart]) -> String {
        let digest = parts.last.map { "digest \($0.content)" } ?? "nothing"
        return shortened(parts.compactMap(\.value).last ?? digest)
    }

    static func shortened(_ text: String) -> String { text.count > 200 ? "\(text.prefix(200))…" : text }
}

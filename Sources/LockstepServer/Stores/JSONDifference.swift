/// Where two JSON values differ, at the innermost places only.
package enum JSONDifference {
    /// A place, and what each has there.
    package struct Change: Hashable, Sendable, Encodable {
        /// Where, as JSONPath (RFC 9535): `$.amounts.pear`, `$.list[3]`, `$["blue pear"]`.
        package let path: String
        /// What the first has there; nil if it has nothing.
        package let before: JSONValue?
        /// What the second has there; nil if it has nothing.
        package let after: JSONValue?
    }

    /// All places in the order of their keys and indices; elements of lists are compared by their index.
    package static func between(_ before: JSONValue, _ after: JSONValue) -> [Change] {
        var changes: [Change] = []
        compare(before, after, at: "$", into: &changes)
        return changes
    }

    private static func compare(
        _ before: JSONValue?, _ after: JSONValue?, at path: String, into changes: inout [Change]
    ) {
        guard before != after else { return }
        switch (before, after) {
        case (.object(let before), .object(let after)):
            for key in Set(before.keys).union(after.keys).sorted() {
                compare(before[key], after[key], at: path + step(to: key), into: &changes)
            }
        case (.list(let before), .list(let after)):
            for index in 0..<max(before.count, after.count) {
                let first = index < before.count ? before[index] : nil
                let second = index < after.count ? after[index] : nil
                compare(first, second, at: "\(path)[\(index)]", into: &changes)
            }
        default: changes.append(Change(path: path, before: before, after: after))
        }
    }

    private static func step(to key: String) -> String {
        let isWord = key.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil
        return isWord ? ".\(key)" : "[\(JSONValue.text(key).text)]"
    }
}

// What a type holds: who reads a machine must know what each of its properties has to do with the others.

extension Rules {
    /// A machine with more is several values in one; those get types of their own.
    static let mostStoredProperties = 20

    /// Says so if the type, which the file declares, has more stored properties than it may, or none that are found.
    static func tooManyProperties(of type: String, in file: SourceFile, most: Int = mostStoredProperties) -> [String] {
        let count = storedProperties(of: type, in: file).count
        return (1...most).contains(count)
            ? [] : ["\(type) has \(count) stored properties in \(file.path), not 1 to \(most)"]
    }

    /// The names of the stored properties of a type that the file declares; those of types within it are not its own.
    static func storedProperties(of type: String, in file: SourceFile) -> [String] {
        let lines = file.code.split(separator: "\n")
        let keywords: Set<Substring> = ["struct", "class", "actor"]
        let beginning = lines.firstIndex { line in
            let words = line.split { " :<{".contains($0) }
            guard let keyword = words.firstIndex(where: keywords.contains) else { return false }
            return words.dropFirst(keyword + 1).first == type[...]
        }
        guard let beginning else { return [] }
        var names: [String] = []
        var depth = 0
        for place in beginning..<lines.count {
            if depth == 1 {
                let next = place + 1 < lines.count ? lines[place + 1] : ""
                names += storedNames(declaredBy: lines[place], before: next)
            }
            depth += lines[place].reduce(0) { $0 + ($1 == "{" ? 1 : $1 == "}" ? -1 : 0) }
            if depth == 0, lines[place].contains("}") { break }
        }
        return names
    }

    /// The names that a line of a type's body declares as stored; `next` is where observers stand.
    private static func storedNames(declaredBy line: Substring, before next: Substring) -> [String] {
        let modifier =
            /(?:@\w+(?:\([^)]*\))?|package|public|internal|private|fileprivate|final|lazy|weak|unowned|nonisolated)/
        var rest = line.drop { $0 == " " }
        while let match = rest.prefixMatch(of: modifier) {
            // `private(set)` and `nonisolated(unsafe)` are one modifier each.
            rest = rest[match.range.upperBound...]
            if let detail = rest.prefixMatch(of: /\(\w+\)/) { rest = rest[detail.range.upperBound...] }
            rest = rest.drop { $0 == " " }
        }
        guard let keyword = rest.prefixMatch(of: /(?:let|var) +/) else { return [] }
        rest = rest[keyword.range.upperBound...]
        let body = rest.prefix { $0 != "=" }.firstIndex(of: "{")
        let observers = rest.hasSuffix("{") ? next : rest
        let isObserved = observers.contains("didSet") || observers.contains("willSet")
        guard body == nil || isObserved else { return [] }
        return rest.prefix { !":={".contains($0) }.split { "(), ".contains($0) }.map(String.init)
    }
}

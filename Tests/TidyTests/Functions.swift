/// Functions, initialisers, subscripts and computed properties of formatted sources, with the lengths of their bodies.
enum Functions {
    static let longest = 60

    struct Body: Equatable {
        /// The line, from 1, on which the declaration begins.
        var line: Int
        /// The lines between the braces, with blank ones and comments; nil if no end was found.
        var count: Int?
    }

    static func tooLong(_ files: [SourceFile]) -> [String] {
        files.flatMap { file in
            bodies(in: file).compactMap { body in
                guard let count = body.count else { return "\(file.path):\(body.line) has no end" }
                return count > longest ? "\(file.path):\(body.line) has \(count) lines" : nil
            }
        }
    }

    /// All that have a body of more than one line.
    ///
    /// `swift format` puts a closing brace below the beginning of its declaration, so nothing has to be parsed.
    static func bodies(in file: SourceFile) -> [Body] {
        let lines = file.code.split(separator: "\n", omittingEmptySubsequences: false).map(Line.init)
        return lines.indices.compactMap { first in
            guard lines[first].isDeclaration, let opening = opening(of: first, lines) else { return nil }
            let margin = lines[first].margin
            let closing = lines[(opening + 1)...].firstIndex { $0.margin == margin && $0.text.hasPrefix("}") }
            return Body(line: first + 1, count: closing.map { $0 - opening - 1 })
        }
    }

    /// The line that ends with the brace of a declaration, which may have its parameters on lines of their own.
    private static func opening(of first: Int, _ lines: [Line]) -> Int? {
        for index in first..<lines.count {
            let line = lines[index]
            let isBeside = line.margin == lines[first].margin
            if index > first, line.text.isEmpty || line.margin < lines[first].margin { return nil }
            if index > first, isBeside, !line.continues { return nil }
            if isBeside || index == first, line.text.hasSuffix("{") { return index }
        }
        return nil
    }

    private struct Line {
        var margin: Int
        var text: String

        init(_ line: Substring) {
            let content = line.drop { $0 == " " }
            margin = line.count - content.count
            text = String(content)
            while text.last == " " { text.removeLast() }
        }

        /// Whether it declares something that can have a body; words before it are modifiers and attributes.
        var isDeclaration: Bool {
            for word in text.split(separator: " ", maxSplits: 8) {
                if ["func", "var", "deinit"].contains(word) { return true }
                let name = word.prefix { $0.isLetter || $0 == "@" }
                if ["init", "subscript"].contains(name) { return true }
                guard name.hasPrefix("@") || Self.modifiers.contains(name) else { return false }
            }
            return false
        }

        /// Whether it goes on with a declaration that began above.
        var continues: Bool { text.hasPrefix(")") || text.hasPrefix("where ") || text.hasPrefix("{") }

        private static let modifiers: Set<Substring> = [
            "borrowing", "class", "consuming", "convenience", "dynamic", "fileprivate", "final", "indirect", "internal",
            "isolated", "lazy", "mutating", "nonisolated", "nonmutating", "open", "override", "package", "private",
            "public", "required", "static", "unowned", "weak",
        ]
    }
}

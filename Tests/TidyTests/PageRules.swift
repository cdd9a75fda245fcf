import Foundation

// What a program can check of pages: their code is compiled somewhere, and what they cite exists.

extension Rules {
    // MARK: - Code

    /// The Swift blocks of a page, without their imports, which stand at the top of a file.
    static func swiftBlocks(of page: SourceFile) -> [String] {
        page.text.matches(of: /```swift\n((?:.|\n)*?)```/).map { match in
            let lines = match.1.split(separator: "\n", omittingEmptySubsequences: false)
                .drop { $0.hasPrefix("import ") || $0.isEmpty }
            return lines.joined(separator: "\n")
        }
    }

    /// The blocks of a page that none of the files has, line by line, in one of the usual depths.
    static func blocksThatAreNotCompiled(of page: SourceFile, in files: [SourceFile]) -> [String] {
        let codes = files.map { "\n\($0.text)" }
        return swiftBlocks(of: page).filter { block in
            !stride(from: 0, through: 16, by: 4).contains { depth in
                let margin = String(repeating: " ", count: depth)
                let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
                    .map { $0.isEmpty ? "" : margin + $0 }
                let text = "\n" + lines.joined(separator: "\n")
                return codes.contains { $0.contains(text) }
            }
        }.map { "\(page.path) shows code that nothing compiles:\n\($0)" }
    }

    // MARK: - Rows

    /// The rows of the correspondence: letter and number.
    static let rows: [String] = {
        let ranges: [(String, [ClosedRange<Int>])] = [
            ("K", [1...26, 30...37, 40...43, 50...56]), ("F", [1...23]), ("S", [1...19]), ("C", [1...13]),
            ("T", [1...24]), ("O", [1...57]),
        ]
        return ranges.flatMap { letter, ranges in ranges.flatMap { $0.map { "\(letter)\($0)" } } }
    }()

    /// The rows that have a line of a table of their own, in order, each as often as it has one.
    static func rowsWithALine(in page: SourceFile) -> [String] {
        page.lines.compactMap { $0.firstMatch(of: /^\| ([A-Z][0-9]+) \|/).map { String($0.1) } }
    }

    /// Tests as `Suite/name`, and suites, that a page cites; `/name` belongs to the suite in front of it.
    static func citedTests(in page: SourceFile) -> [String] {
        var suite = ""
        return page.text.matches(of: /`([A-Z][A-Za-z0-9]*(?:Tests|Page))?(?:\/([a-z][A-Za-z0-9]*))?`/).compactMap {
            match -> String? in
            if let name = match.1 { suite = String(name) }
            guard let test = match.2 else { return match.1.map { String($0) } }
            return "\(suite)/\(test)"
        }
    }

    /// The tests of some files, as `Suite/name`, and their suites.
    static func tests(in files: [SourceFile]) -> Set<String> {
        var found: Set<String> = []
        for file in files {
            var types: [(depth: Int, name: Substring)] = []
            var isTest = false
            for line in file.lines {
                let code = line.drop { $0 == " " }
                // No line of a test's own body begins a suite or a test.
                guard let first = code.first, first == "@" || first.isLetter || first == "]" else { continue }
                let words = code.split { " (:{<".contains($0) }
                let depth = line.count - code.count
                if let keyword = words.firstIndex(where: typeKeywords.contains), keyword + 1 < words.count {
                    types.removeAll { $0.depth >= depth }
                    types.append((depth, words[keyword + 1]))
                }
                if words.contains("@Test") { isTest = true }
                guard isTest, let keyword = words.firstIndex(of: "func"), keyword + 1 < words.count else { continue }
                isTest = false
                guard let suite = types.last(where: { $0.depth < depth }) else { continue }
                found.insert(String(suite.name))
                found.insert("\(suite.name)/\(words[keyword + 1])")
            }
        }
        return found
    }

    private static let typeKeywords: Set<Substring> = ["struct", "class", "extension", "enum", "actor"]
}

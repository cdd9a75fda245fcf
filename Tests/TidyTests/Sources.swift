import Foundation

/// A file of the repository, with its path from the top.
struct SourceFile {
    var path: String
    var text: String
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

    /// The text without comments and without what stands in quotes; lines stay where they are.
    var code: String {
        var code = ""
        var inBlock = false
        for line in lines {
            code += Self.strip(line, inBlock: &inBlock) + "\n"
        }
        return code
    }

    private static func strip(_ line: Substring, inBlock: inout Bool) -> String {
        if line.trimmingCharacters(in: .whitespaces).hasPrefix("\"\"\"") || line.hasSuffix("\"\"\"") {
            inBlock.toggle()
            return ""
        }
        guard !inBlock else { return "" }
        var kept = ""
        var inString = false
        var previous: Character = " "
        for character in line {
            if character == "\"", previous != "\\" {
                inString.toggle()
            } else if !inString {
                if character == "/", previous == "/" {
                    kept.removeLast()
                    break
                }
                kept.append(character)
            }
            previous = character
        }
        return kept
    }
}

/// The repository that these tests stand in.
enum Repository {
    static let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// All Swift files below a folder, in the order of their paths.
    static func swiftFiles(below folder: String) -> [SourceFile] { files(below: folder) { $0.hasSuffix(".swift") } }

    static func files(below folder: String, where isWanted: (String) -> Bool) -> [SourceFile] {
        let top = root.appendingPathComponent(folder)
        guard let walker = FileManager.default.enumerator(at: top, includingPropertiesForKeys: nil) else { return [] }
        var found: [SourceFile] = []
        for case let url as URL in walker where isWanted(url.lastPathComponent) {
            // What is no text is not ours to check.
            guard let text = try? String(contentsOf: url, encoding: .utf8) else { continue }
            let path = url.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1)
            guard !path.contains(".build/") else { continue }
            found.append(SourceFile(path: String(path), text: text))
        }
        return found.sorted { $0.path < $1.path }
    }

    static func file(_ path: String) throws -> SourceFile {
        SourceFile(path: path, text: try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
    }
}

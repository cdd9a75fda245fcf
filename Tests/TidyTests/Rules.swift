import Foundation

/// The rules of docs/STYLE.md that a program can check: each takes files and names what breaks it.
enum Rules {
    static let longestFile = 700

    static func tooLong(_ files: [SourceFile]) -> [String] {
        files.filter { $0.lines.count > longestFile }.map { "\($0.path) has \($0.lines.count) lines" }
    }

    /// The core is pure: no clock, no task, no randomness of its own, no output, no other module.
    static func impureCore(_ files: [SourceFile]) -> [String] {
        let words = [
            "async", "await", "Task", "Date", "Clock", "print", "ContinuousClock", "SuspendingClock", "Foundation",
        ]
        let calls = [".random(", ".shuffled()", "SystemRandomNumberGenerator"]
        let allowed: Set = ["CLockstep", "Crypto", "DequeModule", "OrderedCollections", "HeapModule"]
        var findings: [String] = []
        for file in files {
            // A case may be named as the wire names it.
            let code = file.code.replacing(".await", with: "").replacing("case await", with: "")
            let tokens = Set(code.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
            findings += words.filter(tokens.contains).map { "\(file.path) uses \($0)" }
            findings += calls.filter(code.contains).map { "\(file.path) uses \($0)" }
            for module in imports(of: file) where !allowed.contains(module) {
                findings.append("\(file.path) imports \(module)")
            }
        }
        return findings
    }

    /// What each target may import of this package and its dependencies.
    static func wrongImports(_ files: [SourceFile], of target: String, allowed: Set<String>) -> [String] {
        files.flatMap { file in
            imports(of: file).filter { !allowed.contains($0) }.map { "\(file.path) of \(target) imports \($0)" }
        }
    }

    static func imports(of file: SourceFile) -> [String] {
        file.code.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(of: "import"), index <= 2, index + 1 < words.count else { return nil }
            return words[words.count - 1].split(separator: ".").first.map(String.init)
        }
    }

    /// Unstructured tasks, forced unwrapping of errors, and left-over markers.
    static func forbidden(_ files: [SourceFile]) -> [String] {
        var findings: [String] = []
        for file in files {
            let code = file.code
            for word in ["Task.detached", "try!", "fatalError("] where code.contains(word) {
                findings.append("\(file.path) has \(word)")
            }
            // `group.addTask {` is structured; a task of its own is not.
            if code.contains(/(^|[^a-zA-Z.])Task\s*(\([^)]*\)\s*)?\{/) { findings.append("\(file.path) has Task {") }
            for marker in ["FIX" + "ME", "X" + "XX", "TO" + "DO"] where file.text.contains(marker) {
                findings.append("\(file.path) has the marker \(marker)")
            }
        }
        return findings
    }

    /// Escapes from the compiler's checks, counted; a number may fall and not rise.
    static func escapes(_ files: [SourceFile]) -> Int {
        let words: Set = ["unsafe", "@unchecked", "nonisolated(unsafe)", "@preconcurrency"]
        return files.reduce(0) { sum, file in
            sum
                + file.code.split { " \n\t,:(){}".contains($0) && $0 != "@" }
                .filter { words.contains(String($0)) }.count
        }
    }

    /// The numbers of the rules that PROTOCOL states.
    static func rules(in protocolPage: String) -> Set<String> {
        Set(protocolPage.matches(of: /\*\*(R-[0-9]+)\*\*/).map { String($0.1) })
    }

    /// The rules that a text cites, alone or as a range.
    static func citedRules(in text: String) -> Set<String> {
        var cited: Set<String> = []
        for match in text.matches(of: /R-([0-9]+)(?: to R-([0-9]+))?/) {
            guard let first = Int(match.1) else { continue }
            let last = match.2.flatMap { Int($0) } ?? first
            for number in first...max(first, last) { cited.insert("R-\(number)") }
        }
        return cited
    }
}

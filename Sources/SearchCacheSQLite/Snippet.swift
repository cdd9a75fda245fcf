import GRDB

/// The words around what was found in a text.
///
/// SQLite's own `snippet()` takes time with the square of how often the words are in the text: minutes for a number in
/// a table of some megabytes. This takes one pass, and ends at the first place that has all of them.
final class Snippet {
    /// How many words it has, and how many of them before the first that was found.
    private static let length = 24
    private static let before = 6
    /// The most bytes, where words are far apart.
    private static let byteLimit = 1_024
    /// What a callback returns to go on, and to end.
    private static let goOn: CInt = 0
    private static let done: CInt = 101

    /// What is looked for, each a run of words by their numbers.
    private var terms: [[Int]] = []
    private var numbers: [[UInt8]: Int] = [:]
    /// The bytes that words which are looked for begin with, so that others need not be looked up.
    private var firstBytes = [Bool](repeating: false, count: 256)

    /// The words so far: where they are, and their numbers, or -1.
    private var words: [(start: CInt, end: CInt, number: Int)] = []
    /// What was found in the last `length` words: where it begins and ends, and what.
    private var recent: [(first: Int, last: Int, term: Int)] = []
    private var best: (first: Int, last: Int, count: Int)?

    /// Looks for words and phrases.
    init(_ terms: [String], _ tokenizer: any FTS5Tokenizer) throws {
        for term in terms {
            let run = try tokenizer.tokenize(query: term).map { token, _ in
                let bytes = Array(token.utf8)
                if let first = bytes.first { firstBytes[Int(first)] = true }
                let number = numbers[bytes] ?? numbers.count
                numbers[bytes] = number
                return number
            }
            if !run.isEmpty, run.count <= Self.length, !self.terms.contains(run) { self.terms.append(run) }
        }
    }

    /// The place of a text that has the most of the terms, the first of these, in one line; else its beginning.
    func line(of text: String, _ tokenizer: any FTS5Tokenizer) -> String {
        words.removeAll(keepingCapacity: true)
        recent.removeAll()
        best = nil
        var text = text
        return text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                _ = tokenizer.tokenize(
                    context: Unmanaged.passUnretained(self).toOpaque(), tokenization: .document,
                    pText: characters.baseAddress, nText: CInt(clamping: characters.count)
                ) { context, _, token, count, start, end in
                    guard let context, let token else { return Snippet.goOn }
                    let snippet = Unmanaged<Snippet>.fromOpaque(context).takeUnretainedValue()
                    return snippet.add(UnsafeBufferPointer(start: token, count: Int(count)), start, end)
                }
            }
            return cut(bytes)
        }
    }

    /// Takes a word; returns whether to go on.
    private func add(_ token: UnsafeBufferPointer<CChar>, _ start: CInt, _ end: CInt) -> CInt {
        var number = -1
        if let first = token.first, firstBytes[Int(UInt8(bitPattern: first))] {
            number = numbers[token.map { UInt8(bitPattern: $0) }] ?? -1
        }
        words.append((start, end, number))
        if number >= 0 { find(number) }
        // One word more than it has shows that it is not the end.
        guard let best, best.count == terms.count, words.count > best.first + Self.length else { return Self.goOn }
        return Self.done
    }

    private func find(_ number: Int) {
        let last = words.count - 1
        for (term, run) in terms.enumerated() where run.last == number && run.count <= words.count {
            let first = last - run.count + 1
            guard zip(run, words[first...]).allSatisfy({ $0 == $1.number }) else { continue }
            recent.removeAll { $0.first <= last - Self.length || $0.term == term }
            recent.append((first, last, term))
            if recent.count > best?.count ?? 0 {
                best = (recent.reduce(first) { min($0, $1.first) }, last, recent.count)
            }
        }
    }

    private func cut(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var first = max(0, (best?.first ?? 0) - Self.before)
        if let last = best?.last { first = max(first, last - Self.length + 1) }
        let end = min(words.count, first + Self.length)
        let from = first > 0 ? Int(words[first].start) : 0
        let isWhole = end == words.count
        let to = isWhole ? bytes.count : Int(words[end - 1].end)
        var text = String(decoding: bytes[from..<min(to, from + Self.byteLimit)], as: UTF8.self)
        let isCut = to > from + Self.byteLimit
        if isCut { while text.unicodeScalars.last == "\u{FFFD}" { text.unicodeScalars.removeLast() } }
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return (first > 0 ? "…" : "") + line + (isWhole && !isCut ? "" : "…")
    }
}

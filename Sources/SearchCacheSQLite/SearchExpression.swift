/// What a query asks for, as FTS5 takes it.
///
/// Words are separated by spaces and all have to be there; a phrase stands in double quotes. `OR` separates
/// alternatives and binds less than what is beside it; `NOT word` and `-word` exclude; `AND` may be written. Whatever
/// has only exclusions, or nothing but operators, is taken for words. Nothing else has a meaning: every word reaches
/// FTS5 in quotes, where its tokenizer takes it apart, so that `foo-bar` is the phrase of two words.
struct SearchExpression: Hashable {
    /// The most words and phrases, which is what a tree of FTS5 takes without question.
    static let termLimit = 128

    private struct Term: Hashable {
        var text: String
        var isQuoted = false
        var isExcluded = false

        /// In quotes, with those inside doubled; a NUL would end the expression.
        ///
        /// By scalars, as FTS5 reads it: with an accent after it, a quotation mark is another character.
        var quoted: String {
            var result = "\"".unicodeScalars
            for scalar in text.unicodeScalars {
                result.append(scalar == "\0" ? " " : scalar)
                if scalar == "\"" { result.append(scalar) }
            }
            result.append("\"")
            return String(result)
        }
    }

    /// What is given to MATCH.
    let match: String
    /// The words and phrases that are looked for.
    let wanted: [String]

    /// Reads a query; nil if there is no word in it.
    ///
    /// - Parameters:
    ///   - query: As a person writes it.
    ///   - hasWords: Whether the tokenizer finds a word in a text.
    /// - Throws: `TooLong`.
    init?(_ query: String, hasWords: (String) throws -> Bool) throws {
        let terms = Self.terms(of: query)
        guard terms.count <= Self.termLimit else { throw TooLong() }
        var alternatives: [[Term]] = [[]]
        var isExcluding = false
        for var term in terms {
            switch term.text {
            case "OR" where !term.isQuoted && !term.isExcluded: alternatives.append([])
            case "AND" where !term.isQuoted && !term.isExcluded: break
            case "NOT" where !term.isQuoted && !term.isExcluded:
                isExcluding = true
                continue
            default:
                term.isExcluded = term.isExcluded || isExcluding
                if try hasWords(term.text) { alternatives[alternatives.count - 1].append(term) }
            }
            isExcluding = false
        }
        let expressions = alternatives.compactMap(Self.expression)
        if expressions.isEmpty {
            let words = try terms.filter { try hasWords($0.text) }
            guard !words.isEmpty else { return nil }
            match = words.map(\.quoted).joined(separator: " AND ")
            wanted = words.map(\.text)
        } else {
            wanted = alternatives.joined().filter { !$0.isExcluded }.map(\.text)
            match = expressions.count == 1 ? expressions[0] : expressions.map { "(\($0))" }.joined(separator: " OR ")
        }
    }

    struct TooLong: Error {}

    private static func expression(_ terms: [Term]) -> String? {
        let wanted = terms.filter { !$0.isExcluded }.map(\.quoted)
        let excluded = terms.filter(\.isExcluded).map(\.quoted)
        guard !wanted.isEmpty else { return nil }
        let words = wanted.joined(separator: " AND ")
        return excluded.isEmpty ? words : "(\(words)) NOT (\(excluded.joined(separator: " OR ")))"
    }

    private static func terms(of query: String) -> [Term] {
        var terms: [Term] = []
        var rest = query.unicodeScalars[...]
        while true {
            rest = rest.drop(while: \.properties.isWhitespace)
            guard let first = rest.first else { return terms }
            var term = Term(text: "")
            if first == "-", let next = rest.dropFirst().first, next == "\"" || isWordLike(next) {
                term.isExcluded = true
                rest = rest.dropFirst()
            }
            let word: Substring.UnicodeScalarView
            if rest.first == "\"" {
                rest = rest.dropFirst()
                term.isQuoted = true
                word = rest.prefix { $0 != "\"" }
                rest = rest[word.endIndex...].dropFirst()
            } else {
                word = rest.prefix { !$0.properties.isWhitespace }
                rest = rest[word.endIndex...]
            }
            term.text = String(word)
            terms.append(term)
        }
    }

    private static func isWordLike(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }
}

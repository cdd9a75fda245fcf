/// Texts of others, as lines of a log and messages may hold them.
enum AccessText {
    /// Printable ASCII, at most `count` characters; all else becomes `\u{…}`, and what is too long is cut.
    static func escaped(_ text: String, count: Int = 64) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            guard result.unicodeScalars.count < count else { return result + "…" }
            switch scalar {
            case "\\", "\"": result += "\\\(scalar)"
            case " "..."~": result.unicodeScalars.append(scalar)
            default: result += "\\u{\(String(scalar.value, radix: 16))}"
            }
        }
        return result
    }
}

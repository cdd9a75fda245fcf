/// A number as it is typed, digit by digit: `12.` and `12.0` are not the same display.
public struct Operand: Codable, Hashable, Sendable {
    /// What the display shows.
    public private(set) var text = "0"

    /// Nothing is typed yet.
    public init() {}

    /// A result, which can be typed on.
    public init(_ value: Number) { text = value.text }

    /// The number.
    public var value: Number { Number(text: text) }

    /// A digit takes the place of a zero, or of infinity; there is room for nine before and nine after the point.
    mutating func append(_ digit: Int) {
        guard (0...9).contains(digit) else { return }
        let parts = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        if text == "0" || text == "inf" {
            text = String(digit)
        } else if let last = parts.last, last.count < 9 {
            text += String(digit)
        }
    }

    mutating func appendDot() {
        if text == "inf" { text = "0" }
        if !text.contains(".") { text += "." }
    }

    /// Zero and infinity have no sign.
    mutating func changeSign() {
        guard text != "inf", value != Number(0) else { return }
        text = text.hasPrefix("-") ? String(text.dropFirst()) : "-" + text
    }
}

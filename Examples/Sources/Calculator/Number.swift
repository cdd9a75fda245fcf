/// A number with up to nine digits before and nine after the point, or infinity.
///
/// Results are cut off after the ninth digit. What has ten digits before the point, or was divided by zero, is
/// infinite, and so is everything that is computed with it.
public struct Number: Codable, Hashable, Sendable {
    /// The number in billionths; nil is infinity.
    private let billionths: Int64?

    private static let one: Int64 = 1_000_000_000
    private static let bound: Int128 = 1_000_000_000_000_000_000

    /// Makes a whole number.
    public init(_ number: Int32) { self.init(billionths: Int128(number) * Int128(Self.one)) }

    private init(billionths: Int128?) {
        self.billionths = billionths.flatMap { $0.magnitude < Self.bound.magnitude ? Int64($0) : nil }
    }

    /// Reads what ``text`` writes, also with zeros that it would leave out; anything else is infinity.
    public init(text: String) {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        let fraction = parts.count > 1 ? parts[1] : ""
        guard (1...2).contains(parts.count), !parts[0].isEmpty, parts[0].count <= 9, fraction.count <= 9,
            digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: ".") }),
            let magnitude = Int128("\(parts[0])\(fraction)" + String(repeating: "0", count: 9 - fraction.count))
        else {
            self.init(billionths: nil)
            return
        }
        self.init(billionths: text.hasPrefix("-") ? -magnitude : magnitude)
    }

    /// The number with as few digits as it has, or "inf".
    public var text: String {
        guard let billionths else { return "inf" }
        let (whole, rest) = billionths.magnitude.quotientAndRemainder(dividingBy: Self.one.magnitude)
        var fraction = String(rest + Self.one.magnitude).dropFirst()
        while fraction.last == "0" { fraction.removeLast() }
        return (billionths < 0 ? "-" : "") + String(whole) + (fraction.isEmpty ? "" : "." + fraction)
    }

    private static func compute(_ left: Number, _ right: Number, _ body: (Int128, Int128) -> Int128?) -> Number {
        guard let left = left.billionths, let right = right.billionths else { return Number(billionths: nil) }
        return Number(billionths: body(Int128(left), Int128(right)))
    }

    /// The sum.
    public static func + (left: Number, right: Number) -> Number { compute(left, right) { $0 + $1 } }
    /// The difference.
    public static func - (left: Number, right: Number) -> Number { compute(left, right) { $0 - $1 } }
    /// The product, cut off towards zero.
    public static func * (left: Number, right: Number) -> Number {
        compute(left, right) { $0 * $1 / Int128(one) }
    }
    /// The quotient, cut off towards zero.
    public static func / (left: Number, right: Number) -> Number {
        compute(left, right) { $1 == 0 ? nil : $0 * Int128(one) / $1 }
    }
}

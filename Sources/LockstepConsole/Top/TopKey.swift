/// A key of `top`.
package enum TopKey: Hashable, Sendable {
    case quit, left, right, up, down, sort, pause, help, escape, other

    /// The keys in what a terminal sent; an arrow is three bytes.
    ///
    /// A terminal sends the bytes of a key at once, so what looks like a part of one is a key of its own.
    package static func keys(in bytes: [UInt8]) -> [TopKey] {
        var keys: [TopKey] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            guard byte == 0x1B else {
                keys.append(key(of: byte))
                continue
            }
            // ESC [ or ESC O, numbers, and the letter that ends the key.
            guard let second = rest.first, second == UInt8(ascii: "[") || second == UInt8(ascii: "O") else {
                keys.append(.escape)
                continue
            }
            rest.removeFirst()
            let last = rest.firstIndex { (0x40...0x7E).contains($0) }
            guard let last else { return keys + [.other] }
            keys.append(arrow(rest[last]))
            rest = rest[(last + 1)...]
        }
        return keys
    }

    private static func key(of byte: UInt8) -> TopKey {
        switch byte {
        // q, and the end of input.
        case UInt8(ascii: "q"), UInt8(ascii: "Q"), 0x04: .quit
        case UInt8(ascii: "s"): .sort
        case UInt8(ascii: "p"), UInt8(ascii: " "): .pause
        case UInt8(ascii: "?"), UInt8(ascii: "h"): .help
        case UInt8(ascii: "j"): .down
        case UInt8(ascii: "k"): .up
        case 0x09: .right
        default: .other
        }
    }

    private static func arrow(_ letter: UInt8) -> TopKey {
        switch letter {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        default: .other
        }
    }
}

/// Which bytes are text, and which.
///
/// Valid UTF-8 is taken as it is. Other bytes from 0xA0 on are Latin-1, so that a file in which both are mixed, as
/// they are in old changelogs, is read as its authors meant it. Everything else, control characters and 0x80 to 0x9F,
/// becomes a space; where that is more than one byte in 256, or a NUL is among the first 8,192, the file is not text.
enum TextDecoding {
    /// How many bytes are looked at for a NUL.
    static let sample = 8_192

    /// Whether a file that begins so can be text.
    static func mayBeText(_ start: some Sequence<UInt8>) -> Bool { !start.prefix(sample).contains(0) }

    /// The text, or nil if it is none; what is the beginning of more, `isCut`, may end within a character.
    static func text(_ bytes: [UInt8], isCut: Bool) -> String? {
        guard mayBeText(bytes) else { return nil }
        var bytes = bytes
        if isCut { bytes.removeLast(unfinished(bytes)) }
        var odd = 0
        for index in bytes.indices where bytes[index] < 32 && !isWhite(bytes[index]) {
            bytes[index] = 32
            odd += 1
        }
        guard odd <= bytes.count / 256 else { return nil }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        return mixed(bytes, odd: odd)
    }

    /// Tab to carriage return, backspace (which old manuals print twice with) and escape.
    private static func isWhite(_ byte: UInt8) -> Bool { (8...13).contains(byte) || byte == 27 }

    /// How many bytes at the end are the beginning of a character.
    private static func unfinished(_ bytes: [UInt8]) -> Int {
        for count in 1...3 where count <= bytes.count {
            let byte = bytes[bytes.count - count]
            if byte & 0xC0 == 0x80 { continue }
            return length(byte) > count ? count : 0
        }
        return 0
    }

    /// Of the character that begins with this byte; 0 for none.
    private static func length(_ byte: UInt8) -> Int {
        switch byte {
        case ..<0x80: 1
        case 0xC2..<0xE0: 2
        case 0xE0..<0xF0: 3
        case 0xF0..<0xF5: 4
        default: 0
        }
    }

    private static func mixed(_ bytes: [UInt8], odd: Int) -> String? {
        var odd = odd
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + bytes.count / 8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let length = length(byte)
            if length == 1 {
                result.append(byte)
                index += 1
            } else if length > 1, index + length <= bytes.count,
                String(validating: bytes[index..<index + length], as: UTF8.self) != nil
            {
                result += bytes[index..<index + length]
                index += length
            } else {
                if byte < 0xA0 {
                    odd += 1
                    result.append(32)
                } else {
                    result += [0xC0 | byte >> 6, 0x80 | byte & 0x3F]
                }
                index += 1
            }
        }
        return odd <= bytes.count / 256 ? String(decoding: result, as: UTF8.self) : nil
    }
}

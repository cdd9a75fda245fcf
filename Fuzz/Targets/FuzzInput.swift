/// Takes an input apart; where it has ended, zeros follow.
struct FuzzInput {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var isAtEnd: Bool { offset >= bytes.count }

    mutating func byte() -> UInt8 {
        guard offset < bytes.count else { return 0 }
        defer { offset += 1 }
        return bytes[offset]
    }

    /// Two bytes, little-endian.
    mutating func short() -> Int {
        let low = Int(byte())
        return low | Int(byte()) << 8
    }

    /// Eight bytes, little-endian.
    mutating func integer() -> UInt64 {
        var value: UInt64 = 0
        for shift in 0..<8 { value |= UInt64(byte()) << (8 * shift) }
        return value
    }

    /// A length of two bytes, then that many, or as many as there are.
    mutating func block() -> [UInt8] {
        let count = min(short(), bytes.count - offset)
        defer { offset += count }
        return Array(bytes[offset..<offset + count])
    }

    mutating func rest() -> [UInt8] {
        defer { offset = bytes.count }
        return Array(bytes[min(offset, bytes.count)...])
    }
}

/// Writes inputs as ``FuzzInput`` takes them apart: for seeds.
struct FuzzInputWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func integer(_ value: UInt64) {
        for shift in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * shift))) }
    }

    mutating func block(_ content: [UInt8]) {
        precondition(content.count <= 0xFFFF, "a block has at most 65,535 bytes")
        bytes.append(UInt8(truncatingIfNeeded: content.count))
        bytes.append(UInt8(truncatingIfNeeded: content.count >> 8))
        bytes += content
    }

    mutating func rest(_ content: [UInt8]) { bytes += content }
}

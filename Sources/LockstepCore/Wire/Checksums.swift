import CLockstep
import Crypto

/// The first 128 bits of SHA-256, the first byte as the highest.
package func sha256Prefix(_ bytes: [UInt8]) -> UInt128 { prefix(of: SHA256.hash(data: bytes)) }

/// The first 128 bits of SHA-256 over a range of a span.
package func sha256Prefix(_ bytes: RawSpan, _ range: Range<Int>) -> UInt128 {
    unsafe bytes.extracting(range).withUnsafeBytes { buffer in
        var hasher = SHA256()
        unsafe hasher.update(bufferPointer: buffer)
        return prefix(of: hasher.finalize())
    }
}

/// The first 128 bits of SHA-256 over one byte and a range of a span after it.
package func sha256Prefix(after first: UInt8, _ bytes: RawSpan, _ range: Range<Int>) -> UInt128 {
    unsafe bytes.extracting(range).withUnsafeBytes { buffer in
        var hasher = SHA256()
        unsafe withUnsafeBytes(of: first) { unsafe hasher.update(bufferPointer: $0) }
        unsafe hasher.update(bufferPointer: buffer)
        return prefix(of: hasher.finalize())
    }
}

private func prefix(of digest: SHA256.Digest) -> UInt128 {
    var value: UInt128 = 0
    for byte in digest.prefix(16) { value = value << 8 | UInt128(byte) }
    return value
}

/// CRC-32C (Castagnoli), the checksum of every frame: polynomial 0x1EDC6F41 reflected, start and end inverted.
///
/// By the processor's own instruction, about 0.1 ns a byte, or where it has none eight bytes a step through eight
/// tables, about 0.7 ns a byte. The value of "123456789" is 0xE3069283 (RFC 3720, B.4).
package struct CRC32C: Sendable {
    private var state: UInt32 = ~0

    package init() {}

    package var value: UInt32 { ~state }

    package mutating func update(_ bytes: RawSpan, _ range: Range<Int>) {
        unsafe bytes.extracting(range).withUnsafeBytes { buffer in
            guard unsafe !clockstep_crc32c(&state, buffer.baseAddress, buffer.count) else { return }
            unsafe updateByTables(buffer)
        }
    }

    /// What ``update(_:_:)`` does where the processor has no instruction for it.
    package mutating func updateByTables(_ buffer: UnsafeRawBufferPointer) {
        // A table's index is masked to its size.
        unsafe Self.tables.withUnsafeBufferPointer { tables in
            var crc = state
            var offset = 0
            while offset + 8 <= buffer.count {
                let word =
                    unsafe UInt64(
                        littleEndian: buffer.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) ^ UInt64(crc)
                let low =
                    unsafe tables[1792 + Int(word & 0xFF)] ^ tables[1536 + Int(word >> 8 & 0xFF)]
                    ^ tables[1280 + Int(word >> 16 & 0xFF)] ^ tables[1024 + Int(word >> 24 & 0xFF)]
                let high =
                    unsafe tables[768 + Int(word >> 32 & 0xFF)] ^ tables[512 + Int(word >> 40 & 0xFF)]
                    ^ tables[256 + Int(word >> 48 & 0xFF)] ^ tables[Int(word >> 56)]
                crc = low ^ high
                offset += 8
            }
            while offset < buffer.count {
                crc = unsafe crc >> 8 ^ tables[Int((crc ^ UInt32(buffer[offset])) & 0xFF)]
                offset += 1
            }
            state = crc
        }
    }

    /// Table `k` at `256 * k`: what a byte does to the remainder when `k` more bytes follow it in the step.
    private static let tables: [UInt32] = {
        var tables = [UInt32](repeating: 0, count: 8 * 256)
        for index in 0..<256 {
            var crc = UInt32(index)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0x82F6_3B78 : crc >> 1 }
            tables[index] = crc
        }
        for index in 256..<8 * 256 {
            let previous = tables[index - 256]
            tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
        }
        return tables
    }()
}

/// SipHash with a result of 128 bits (Aumasson and Bernstein; the reference code's `HASHLEN` 16).
///
/// The digest uses one compression and three finalisation rounds, SipHash-1-3-128, about 19 ns for 13 bytes.
package struct SipHash: Sendable {
    package var key: (UInt64, UInt64)
    package var compressionRounds: Int
    package var finalizationRounds: Int

    /// The digest's hash: its key is public, since it finds faults and is no defence against a node that lies.
    ///
    /// The two words are the bytes of "lockstep" and "digest 1", read as little-endian numbers.
    @inline(__always)
    package static var digest: SipHash {
        SipHash(key: (0x7065_7473_6B63_6F6C, 0x3120_7473_6567_6964), compressionRounds: 1, finalizationRounds: 3)
    }

    @inline(__always)
    package init(key: (UInt64, UInt64), compressionRounds: Int, finalizationRounds: Int) {
        self.key = key
        self.compressionRounds = compressionRounds
        self.finalizationRounds = finalizationRounds
    }

    /// The hash of `bytes`: the reference code's first eight bytes are the low half, little-endian.
    @inline(__always)
    package func hash(_ bytes: UnsafeRawBufferPointer) -> UInt128 {
        var words = Words(key: key)
        var offset = 0
        while offset + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            words.compress(word, rounds: compressionRounds)
            offset += 8
        }
        let last = UInt64(truncatingIfNeeded: bytes.count) << 56 | Self.rest(of: bytes, from: offset)
        words.compress(last, rounds: compressionRounds)
        return words.finish(rounds: finalizationRounds)
    }

    /// Whether no byte has its highest bit, eight bytes a step.
    @inline(__always)
    static func isASCII(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var all: UInt64 = 0
        var offset = 0
        while offset + 8 <= bytes.count {
            all |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        return (all | rest(of: bytes, from: offset)) & 0x8080_8080_8080_8080 == 0
    }

    /// The last bytes, fewer than eight, as a number whose lowest byte is the one at `offset`.
    ///
    /// In one or two loads, which may see bytes before them.
    @inline(__always)
    static func rest(of bytes: UnsafeRawBufferPointer, from offset: Int) -> UInt64 {
        let count = bytes.count - offset
        guard count > 0 else { return 0 }
        if bytes.count >= 8 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
            return word &>> UInt64(64 - 8 * count)
        }
        if count >= 4 {
            let low = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            let high = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self))
            return UInt64(low) | UInt64(high) &<< UInt64(8 * (count - 4))
        }
        return UInt64(bytes[offset]) | UInt64(bytes[offset + count / 2]) &<< UInt64(8 * (count / 2))
            | UInt64(bytes[offset + count - 1]) &<< UInt64(8 * (count - 1))
    }

    /// The four words of the state.
    private struct Words {
        var v0, v1, v2, v3: UInt64

        @inline(__always)
        init(key: (UInt64, UInt64)) {
            v0 = 0x736F_6D65_7073_6575 ^ key.0
            v1 = 0x646F_7261_6E64_6F6D ^ key.1 ^ 0xEE
            v2 = 0x6C79_6765_6E65_7261 ^ key.0
            v3 = 0x7465_6462_7974_6573 ^ key.1
        }

        @inline(__always)
        mutating func round() {
            v0 &+= v1
            v1 = v1 &<< 13 | v1 &>> 51
            v1 ^= v0
            v0 = v0 &<< 32 | v0 &>> 32
            v2 &+= v3
            v3 = v3 &<< 16 | v3 &>> 48
            v3 ^= v2
            v0 &+= v3
            v3 = v3 &<< 21 | v3 &>> 43
            v3 ^= v0
            v2 &+= v1
            v1 = v1 &<< 17 | v1 &>> 47
            v1 ^= v2
            v2 = v2 &<< 32 | v2 &>> 32
        }

        @inline(__always)
        mutating func compress(_ word: UInt64, rounds: Int) {
            v3 ^= word
            for _ in 0..<rounds { round() }
            v0 ^= word
        }

        @inline(__always)
        mutating func finish(rounds: Int) -> UInt128 {
            v2 ^= 0xEE
            for _ in 0..<rounds { round() }
            let low = v0 ^ v1 ^ v2 ^ v3
            v1 ^= 0xDD
            for _ in 0..<rounds { round() }
            return UInt128(v0 ^ v1 ^ v2 ^ v3) << 64 | UInt128(low)
        }
    }
}

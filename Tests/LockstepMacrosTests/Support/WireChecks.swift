#if Macros
    import Lockstep
    import Testing

    /// The bytes of a value.
    func bytes(_ value: some WireCodable) -> [UInt8] {
        var writer = ByteWriter()
        value.encode(into: &writer)
        return writer.bytes
    }

    /// Reads a value that takes up all bytes, as an action or a mutation does.
    func decode<Value: WireCodable>(_ type: Value.Type = Value.self, _ bytes: [UInt8]) throws(WireError) -> Value {
        try withBytes(of: bytes) { (span) throws(WireError) in
            var reader = ByteReader(span)
            let value = try Value(from: span, &reader)
            try reader.finish()
            return value
        }
    }

    /// The value comes back from its bytes; cut at any place or with a byte more they are refused, and no flipped bit
    /// makes a trap.
    func checkComesBack<Value: WireCodable & Equatable & Sendable>(
        _ value: Value, _ golden: [UInt8]? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let written = bytes(value)
        if let golden { #expect(written == golden, sourceLocation: sourceLocation) }
        #expect(try decode(Value.self, written) == value, sourceLocation: sourceLocation)
        #expect(throws: WireError.self, sourceLocation: sourceLocation) { try decode(Value.self, written + [0]) }
        for end in written.indices {
            #expect(throws: WireError.self, sourceLocation: sourceLocation) {
                try decode(Value.self, Array(written[..<end]))
            }
            for bit in 0..<8 {
                var changed = written
                changed[end] ^= 1 << bit
                guard let other = try? decode(Value.self, changed) else { continue }
                // Whatever is read can be written and read again.
                #expect(try decode(Value.self, bytes(other)) == other, sourceLocation: sourceLocation)
            }
        }
    }

    /// Steele, Lea and Flood's SplitMix64: the same numbers in every run.
    struct SplitMix64: RandomNumberGenerator {
        private var state: UInt64
        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
#endif

import LockstepCore
import Testing

@Suite("Readers and writers of bytes")
struct ByteCodingTests {
    static func error(_ body: () throws(WireError) -> Void) -> WireError? {
        do throws(WireError) {
            try body()
            return nil
        } catch {
            return error
        }
    }

    /// Numbers have one form each, of the length that they need (PROTOCOL R-10).
    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 1 << 32, 1 << 63, UInt64.max - 1, UInt64.max])
    func varintsComeBack(value: UInt64) throws {
        var writer = ByteWriter()
        writer.writeVarint(value)
        writer.writeSignedVarint(Int64(bitPattern: value))
        let bits = 64 - max(value, 1).leadingZeroBitCount
        try withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(bytes)
            let unsigned = try reader.readVarint(from: bytes)
            #expect(unsigned == value)
            #expect(reader.offset == (bits + 6) / 7)
            let value2 = try reader.readSignedVarint(from: bytes)
            #expect(value2 == Int64(bitPattern: value))
            try reader.finish()
        }
    }

    /// Longer forms, numbers above 64 bits, and endless ones are refused.
    @Test(
        arguments: [
            [0x80, 0x00], [0xFF, 0x80, 0x00], [UInt8](repeating: 0xFF, count: 9) + [0x02],
            [UInt8](repeating: 0xFF, count: 11), [UInt8](repeating: 0x80, count: 9) + [0x00], [0x80], [],
        ] as [[UInt8]])
    func otherFormsOfVarintsAreRefused(bytes: [UInt8]) {
        withBytes(of: bytes) { span in
            var reader = ByteReader(span)
            #expect((try? reader.readVarint(from: span)) == nil)
        }
    }

    @Test func fixedWidthsAreLittleEndianAndIdentifiersAreNot() throws {
        var writer = ByteWriter()
        writer.write(UInt32(0x0102_0304))
        writer.write128(1)
        #expect(writer.bytes == [4, 3, 2, 1] + [UInt8](repeating: 0, count: 15) + [1])
        writer.overwrite(UInt16(0xAABB), at: 1)
        #expect(writer.bytes.prefix(4) == [4, 0xBB, 0xAA, 1])
        try withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(bytes)
            let value3 = try reader.read(UInt32.self, from: bytes)
            #expect(value3 == 0x01AA_BB04)
            let value4 = try reader.read128(from: bytes)
            #expect(value4 == 1)
            #expect(
                Self.error { () throws(WireError) in _ = try reader.read(UInt8.self, from: bytes) }
                    == WireError(.truncated, at: 20))
        }
    }

    /// A length that does not fit into the bytes, or into its limit, is refused before anything is taken.
    @Test func lengthsAreBounded() {
        withBytes(of: [5, 1, 2]) { bytes in
            var reader = ByteReader(bytes)
            #expect(
                Self.error { () throws(WireError) in _ = try reader.readRange(from: bytes) }
                    == WireError(.truncated, at: 1))
            var limited = ByteReader(bytes)
            #expect(
                Self.error { () throws(WireError) in _ = try limited.readLength(from: bytes, limit: 4) }
                    == WireError(.outOfRange, at: 0))
            var skipping = ByteReader(bytes)
            #expect(Self.error { () throws(WireError) in _ = try skipping.skip(-1) } == WireError(.truncated, at: 0))
            #expect(Self.error { () throws(WireError) in _ = try skipping.skip(.max) } == WireError(.truncated, at: 0))
            #expect(Self.error { () throws(WireError) in try skipping.finish() } == WireError(.trailingBytes, at: 0))
        }
    }

    @Test func textsAreCheckedUTF8() throws {
        var writer = ByteWriter()
        writer.writeString("grün")
        try withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(bytes)
            let value5 = try reader.readString(from: bytes)
            #expect(value5 == "grün")
        }
        withBytes(of: [2, 0xC3, 0x28]) { bytes in
            var reader = ByteReader(bytes)
            #expect(
                Self.error { () throws(WireError) in _ = try reader.readString(from: bytes) }
                    == WireError(.invalidText, at: 1))
        }
    }

    /// What is measured has its length in front, however long that is.
    @Test(arguments: [0, 1, 127, 128, 300, 20_000])
    func measuredContentIsWhereItSays(count: Int) throws {
        var writer = ByteWriter()
        writer.write(UInt8(9))
        let start = writer.writeMeasured { $0.writeRaw([UInt8](repeating: 5, count: count)) }
        try withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(offset: 1, end: bytes.byteCount)
            let value6 = try reader.readRange(from: bytes)
            #expect(value6 == start..<start + count)
            try reader.finish()
        }
    }
}

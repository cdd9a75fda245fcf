/// Reads gzip files (RFC 1951 and 1952), such as those below /usr/share/doc, without a library.
///
/// Nothing in the input is trusted: every read is within bounds, and the output has a limit.
enum Gzip {
    enum Failure: Error, Hashable {
        /// The input ends too early.
        case ended
        /// It is no gzip file, or a damaged one.
        case damaged
    }

    /// The bytes, at most `limit` of them, and whether there are more.
    static func decompress(_ input: [UInt8], limit: Int) throws(Failure) -> (bytes: [UInt8], isCut: Bool) {
        var inflater = Inflater(input: input, limit: limit)
        repeat {
            try inflater.readHeader()
            let start = inflater.output.count
            try inflater.inflate()
            if inflater.isCut { break }
            try inflater.readTrailer(from: start)
            // What follows a member is another one, or padding.
        } while inflater.isAtMember
        return (inflater.output, inflater.isCut)
    }
}

/// The state of reading one file.
private struct Inflater {
    private let input: [UInt8]
    private let limit: Int
    private var position = 0
    /// Bits that were taken from the input, the next one lowest.
    private var bits: UInt64 = 0
    private var bitCount = 0
    private(set) var output: [UInt8] = []
    /// Whether the limit was reached before the end.
    private(set) var isCut = false

    init(input: [UInt8], limit: Int) {
        self.input = input
        self.limit = limit
        output.reserveCapacity(min(limit, 4 * input.count))
    }

    // MARK: - Members

    var isAtMember: Bool {
        position + 1 < input.count && input[position] == 0x1F && input[position + 1] == 0x8B
    }

    mutating func readHeader() throws(Gzip.Failure) {
        guard isAtMember, input.count - position >= 10, input[position + 2] == 8 else { throw .damaged }
        let flags = input[position + 3]
        position += 10
        if flags & 4 != 0 { try skip(try byte() | (try byte() << 8)) }
        // The name, and a comment.
        if flags & 8 != 0 { while try byte() != 0 {} }
        if flags & 16 != 0 { while try byte() != 0 {} }
        if flags & 2 != 0 { try skip(2) }
    }

    mutating func readTrailer(from start: Int) throws(Gzip.Failure) {
        giveBack()
        var numbers: [UInt32] = []
        for _ in 0..<2 {
            var number: UInt32 = 0
            for shift in [0, 8, 16, 24] { number |= UInt32(try byte()) << UInt32(shift) }
            numbers.append(number)
        }
        let size = UInt32(truncatingIfNeeded: output.count - start)
        guard numbers[1] == size, numbers[0] == CRC32.checksum(output, from: start) else { throw .damaged }
    }

    private mutating func byte() throws(Gzip.Failure) -> Int {
        guard position < input.count else { throw .ended }
        defer { position += 1 }
        return Int(input[position])
    }

    private mutating func skip(_ count: Int) throws(Gzip.Failure) {
        guard input.count - position >= count else { throw .ended }
        position += count
    }

    // MARK: - Bits

    private mutating func fill() {
        while bitCount <= 56, position < input.count {
            bits |= UInt64(input[position]) << UInt64(bitCount)
            position += 1
            bitCount += 8
        }
    }

    private mutating func take(_ count: Int) throws(Gzip.Failure) -> Int {
        if bitCount < count {
            fill()
            guard bitCount >= count else { throw .ended }
        }
        let value = Int(bits & (1 << UInt64(count) - 1))
        bits >>= UInt64(count)
        bitCount -= count
        return value
    }

    /// Drops the rest of a byte and returns whole bytes to the input.
    private mutating func giveBack() {
        position -= bitCount / 8
        bits = 0
        bitCount = 0
    }

    private mutating func symbol(_ table: HuffmanTable) throws(Gzip.Failure) -> Int {
        if bitCount < table.width { fill() }
        let entry = table.entries[Int(bits & (1 << UInt64(table.width) - 1))]
        let length = Int(entry & 15)
        guard length > 0 else { throw .damaged }
        guard length <= bitCount else { throw .ended }
        bits >>= UInt64(length)
        bitCount -= length
        return Int(entry >> 4)
    }

    // MARK: - Blocks

    mutating func inflate() throws(Gzip.Failure) {
        var isLast = false
        while !isLast, !isCut {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try copyCoded(HuffmanTable.fixedLiterals, HuffmanTable.fixedDistances)
            case 2:
                let (literals, distances) = try readTables()
                try copyCoded(literals, distances)
            default: throw .damaged
            }
        }
    }

    private mutating func copyStored() throws(Gzip.Failure) {
        giveBack()
        let count = try byte() | (try byte() << 8)
        let complement = try byte() | (try byte() << 8)
        guard count == complement ^ 0xFFFF else { throw .damaged }
        guard input.count - position >= count else { throw .ended }
        let taken = min(count, limit - output.count)
        output += input[position..<position + taken]
        position += count
        isCut = taken < count
    }

    private mutating func copyCoded(_ literals: HuffmanTable, _ distances: HuffmanTable) throws(Gzip.Failure) {
        while true {
            let code = try symbol(literals)
            if code == 256 { return }
            guard output.count < limit else {
                isCut = true
                return
            }
            if code < 256 {
                output.append(UInt8(code))
                continue
            }
            guard code < 286 else { throw .damaged }
            let length = Self.lengthBases[code - 257] + (try take(Self.lengthBits[code - 257]))
            let distanceCode = try symbol(distances)
            guard distanceCode < 30 else { throw .damaged }
            let distance = Self.distanceBases[distanceCode] + (try take(Self.distanceBits[distanceCode]))
            guard distance <= output.count else { throw .damaged }
            let taken = min(length, limit - output.count)
            // They may overlap, so one byte after the other.
            for _ in 0..<taken { output.append(output[output.count - distance]) }
            if taken < length {
                isCut = true
                return
            }
        }
    }

    private mutating func readTables() throws(Gzip.Failure) -> (HuffmanTable, HuffmanTable) {
        let literalCount = try take(5) + 257
        let distanceCount = try take(5) + 1
        let codeCount = try take(4) + 4
        var codeLengths = [UInt8](repeating: 0, count: 19)
        for index in 0..<codeCount { codeLengths[Self.codeOrder[index]] = UInt8(try take(3)) }
        let codes = try HuffmanTable(codeLengths)
        var lengths: [UInt8] = []
        while lengths.count < literalCount + distanceCount {
            let code = try symbol(codes)
            switch code {
            case 16:
                guard let last = lengths.last else { throw .damaged }
                lengths += repeatElement(last, count: 3 + (try take(2)))
            case 17: lengths += repeatElement(0, count: 3 + (try take(3)))
            case 18: lengths += repeatElement(0, count: 11 + (try take(7)))
            default: lengths.append(UInt8(code))
            }
        }
        guard lengths.count == literalCount + distanceCount else { throw .damaged }
        return (try HuffmanTable(Array(lengths[..<literalCount])), try HuffmanTable(Array(lengths[literalCount...])))
    }

    private static let codeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    private static let distanceBases = [
        1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097,
        6145, 8193, 12289, 16385, 24577,
    ]
    private static let distanceBits = [
        0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13,
    ]
}

/// A prefix code: the next bits of the input are the index of a symbol and of how many of them it has.
private struct HuffmanTable {
    /// `symbol << 4 | length`; 0 where no code begins so.
    let entries: [UInt16]
    let width: Int

    static let fixedLiterals = fixed(
        (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    static let fixedDistances = fixed(Array(repeating: 5, count: 30))

    private init(entries: [UInt16], width: Int) {
        self.entries = entries
        self.width = width
    }

    private static func fixed(_ lengths: [UInt8]) -> HuffmanTable {
        do { return try HuffmanTable(lengths) } catch { preconditionFailure("the fixed codes are no prefix code") }
    }

    /// A code of lengths of at most 15; incomplete ones are allowed, as their gaps are found in reading.
    init(_ lengths: [UInt8]) throws(Gzip.Failure) {
        var counts = [Int](repeating: 0, count: 16)
        for length in lengths { counts[Int(length)] += 1 }
        counts[0] = 0
        let width = max(1, counts.lastIndex { $0 > 0 } ?? 1)
        var next = [Int](repeating: 0, count: 16)
        var code = 0
        for length in 1...15 {
            code = (code + counts[length - 1]) << 1
            next[length] = code
            guard code + counts[length] <= 1 << length else { throw .damaged }
        }
        var entries = [UInt16](repeating: 0, count: 1 << width)
        for (symbol, length) in lengths.enumerated() where length > 0 {
            let length = Int(length)
            var index = Self.reversed(next[length], length)
            next[length] += 1
            let entry = UInt16(symbol << 4 | length)
            while index < entries.count {
                entries[index] = entry
                index += 1 << length
            }
        }
        self.init(entries: entries, width: width)
    }

    private static func reversed(_ code: Int, _ length: Int) -> Int {
        var code = code
        var result = 0
        for _ in 0..<length {
            result = result << 1 | code & 1
            code >>= 1
        }
        return result
    }
}

/// The checksum of gzip.
private enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
    }

    static func checksum(_ bytes: [UInt8], from start: Int) -> UInt32 {
        let table = table
        var value = UInt32.max
        for index in start..<bytes.count {
            value = table[Int((value ^ UInt32(bytes[index])) & 0xFF)] ^ (value >> 8)
        }
        return ~value
    }
}

import Foundation

/// How values of a type become bytes and are read back.
///
/// A ``Reactor`` has one for each of its types; without a word they are ``wire`` for types that are ``WireCodable``,
/// and ``json`` for all others. A reactor may give another, such as one that reads an older version's form as well.
public struct Coding<Value>: Sendable {
    /// What to call the coding in a diagnosis.
    public let name: String
    @usableFromInline package let encode: @Sendable (Value, inout ByteWriter) throws -> Void
    @usableFromInline package let decode: @Sendable (RawSpan, inout ByteReader) throws -> Value

    /// Makes a coding of two functions, which are called on any thread.
    ///
    /// - Parameters:
    ///   - name: What to call the coding in a diagnosis.
    ///   - encode: Appends the value's bytes.
    ///   - decode: Reads a value out of the reader's range of the bytes; whatever the bytes are, it must not trap.
    ///     Bytes that it leaves are an error.
    @inlinable
    public init(
        name: String, encode: @escaping @Sendable (_ value: Value, _ writer: inout ByteWriter) throws -> Void,
        decode: @escaping @Sendable (_ bytes: RawSpan, _ reader: inout ByteReader) throws -> Value
    ) {
        self.name = name
        self.encode = encode
        self.decode = decode
    }

    /// Reads a value that takes up the whole range.
    @inlinable
    package func decode(_ bytes: RawSpan, _ range: Range<Int>) throws -> Value {
        var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
        let value = try decode(bytes, &reader)
        try reader.finish()
        return value
    }

    /// The same; every error is a `WireError`.
    @inlinable
    package func decodeChecked(_ bytes: RawSpan, _ range: Range<Int>) throws(WireError) -> Value {
        do {
            return try decode(bytes, range)
        } catch let error as WireError {
            throw error
        } catch {
            throw WireError(.payload, at: range.lowerBound)
        }
    }

    /// The value's bytes.
    package func encoded(_ value: Value) throws -> [UInt8] {
        var writer = ByteWriter()
        try encode(value, &writer)
        return writer.bytes
    }

    /// Reads a value that takes up all of `bytes`.
    package func decoded(_ bytes: [UInt8]) throws -> Value {
        // The closure may not throw just anything through the span, so the outcome is carried out of it.
        try withBytes(of: bytes) { span in Result { try decode(span, 0..<span.byteCount) } }.get()
    }
}

extension Coding where Value: Codable & Sendable {
    /// JSON with sorted keys: about 3 us to write and 5 us to read a small value.
    ///
    /// Numbers that JSON does not have, such as infinity, are refused.
    public static var json: Coding {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let decoder = JSONDecoder()
        return Coding(
            name: "json",
            encode: { value, writer in writer.writeRaw(try encoder.encode(value)) },
            decode: { bytes, reader in
                let start = try reader.skip(reader.remaining)
                return try bytes.extracting(start..<reader.offset).withUnsafeBytes { buffer in
                    try decoder.decode(Value.self, from: Data(buffer))
                }
            })
    }
}

extension Coding where Value: WireCodable & Sendable {
    /// The type's own form.
    @inlinable
    public static var wire: Coding {
        Coding(
            name: "wire",
            encode: { value, writer in value.encode(into: &writer) },
            decode: { bytes, reader in try Value(from: bytes, &reader) })
    }
}

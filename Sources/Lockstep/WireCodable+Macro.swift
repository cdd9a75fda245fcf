// There only with the package trait Macros: the macro needs swift-syntax, which takes a minute or two to build.

#if Macros
    /// Makes a struct or an enum ``WireCodable``: writes `encode(into:)` and `init(from:_:)` for it.
    ///
    /// ```swift
    /// @WireCodable
    /// enum Action: Codable, Sendable {
    ///     case place(Order)
    ///     case cancel(id: UInt64)
    /// }
    ///
    /// @WireCodable
    /// struct Order: Codable, Sendable {
    ///     var id: UInt64
    ///     var amount: Int64
    ///     @WireAdded var note: String = ""
    /// }
    /// ```
    ///
    /// It is there with the package trait `Macros`. The types of all fields and values must be ``WireCodable``, as
    /// generic arguments must be. Both functions are as visible as the type. They cost what they cost when written by
    /// hand.
    ///
    /// **An enum** is one byte, the number of the case, then the values of the case in order. Cases have the numbers
    /// 1, 2, 3 and so on, or those that ``WireCase(_:)`` gives; after a given number it goes on with the next. A number
    /// that is not known is refused with ``WireError/Problem/unknownKind`` at its byte. A new case takes a number that
    /// no case ever had. The values of a case stay as they are; if they are to grow, make them a struct.
    ///
    /// **A struct** is the number of its fields as a varint, then the fields in order: all stored properties of an
    /// instance, private ones and property wrappers included, except `let` properties with a value of their own. New
    /// fields stand at the end and are marked ``WireAdded()``: where older bytes end, they take their initial values.
    /// Bytes of a newer version, with more fields than are known, are refused with
    /// ``WireError/Problem/unknownFields``, because a node that skipped a field would no longer have the same state.
    /// So who reads is upgraded before who writes. Bytes with fewer fields than the first version had are refused with
    /// ``WireError/Problem/missingFields``.
    ///
    /// **A frozen struct** is the fields alone, which saves a byte; none can be added. Freezing a struct, or taking it
    /// back, changes its bytes.
    ///
    /// The order of fields, their types and the initial values of added ones are the format: write its bytes down in a
    /// test. Classes, recursive types, tuples, functions and `any` types are refused when the program is built.
    ///
    /// - Parameter frozen: Whether no field will ever be added to this struct; `true` or `false`, `false` if left out.
    @attached(extension, conformances: WireCodable, names: named(encode(into:)), named(init(from:_:)))
    public macro WireCodable(frozen: Bool = false) =
        #externalMacro(module: "LockstepMacros", type: "WireCodableMacro")

    /// Gives a case of an enum with ``WireCodable(frozen:)`` its number, so that cases can be moved or taken away.
    ///
    /// Cases after it go on with the next number. Two cases with one number are an error when the program is built.
    ///
    /// - Parameter number: A literal from 0 to 255. The number of a case that is gone must not be used again.
    @attached(peer)
    public macro WireCase(_ number: UInt8) = #externalMacro(module: "LockstepMacros", type: "WireCaseMacro")

    /// Says that a field of a struct with ``WireCodable(frozen:)`` was added later, so that older bytes do without it.
    ///
    /// The field is a `var` after all fields of the first version. Its initial value is what older bytes mean: a
    /// literal or a constant of a type, the same on every node. It is a part of the format and must not be changed while
    /// there are bytes without the field, in a log or under way.
    @attached(peer)
    public macro WireAdded() = #externalMacro(module: "LockstepMacros", type: "WireAddedMacro")

    // What the macro's code calls. The types are inferred: an extension does not see the names around a nested type.

    extension ByteWriter {
        /// Appends the bytes of a value.
        @inlinable
        public mutating func writeValue(_ value: some WireCodable) { value.encode(into: &self) }
    }

    extension ByteReader {
        /// Reads a value of the type that is asked for; refuses one that is nested too deep.
        @inlinable
        public mutating func readValue<Value: WireCodable>(from bytes: RawSpan) throws(WireError) -> Value {
            guard nesting < Self.deepest else { throw WireError(.tooDeep, at: offset) }
            nesting += 1
            defer { nesting -= 1 }
            return try Value(from: bytes, &self)
        }

        /// Reads the number of a struct's fields and refuses one outside the range, as missing or unknown fields.
        @inlinable
        public mutating func readFieldCount(
            _ known: ClosedRange<UInt64>, from bytes: RawSpan
        ) throws(WireError) -> UInt64 {
            let start = offset
            let count = try readVarint(from: bytes)
            guard count >= known.lowerBound else { throw WireError(.missingFields, at: start) }
            guard count <= known.upperBound else { throw WireError(.unknownFields, at: start) }
            return count
        }
    }
#endif

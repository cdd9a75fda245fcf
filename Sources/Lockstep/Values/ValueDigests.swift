// What the digests of the types in this folder share.

extension StateDigest {
    /// The same as ``digest(of:)``, by a shorter way for a value that has a digest of its own.
    @inlinable
    static func shortDigest<Value: Encodable>(of value: Value) -> Digest {
        guard let value = value as? any Digestible else { return digest(of: value) }
        return .pair(.rootMark, value.contentDigest)
    }
}

extension Digest {
    // What tells the kinds of values apart; the numbers are ASCII.
    static var pulseMark: Digest { Digest(rawValue: 0x7075_6C73_65) }
    static var versionMark: Digest { Digest(rawValue: 0x7665_7273_696F_6E) }
    @usableFromInline static var linkMark: Digest { Digest(rawValue: 0x6C69_6E6B) }
    static var undoMark: Digest { Digest(rawValue: 0x756E_646F) }
}

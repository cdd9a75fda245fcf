internal import CZeroMQ

/// A public key and its secret, by which one side of a CURVE connection proves who it is.
public struct CurveKeyPair: Hashable, Sendable {
    /// May be told to everybody.
    public let publicKey: CurvePublicKey

    /// Stays with its owner.
    public let secretKey: CurveSecretKey

    /// Makes a new pair from the system's random numbers (`zmq_curve_keypair`).
    ///
    /// - Throws: ``ZMQError/Code/notSupported`` if libzmq was built without CURVE.
    public static func generate() throws(ZMQError) -> CurveKeyPair {
        var (publicText, secretText) = (Z85.emptyKey, Z85.emptyKey)
        try complete("make CURVE keys") { unsafe zmq_curve_keypair(&publicText, &secretText) }
        return CurveKeyPair(
            publicKey: CurvePublicKey(valid: Z85.text(of: publicText)),
            secretKey: CurveSecretKey(valid: Z85.text(of: secretText)))
    }

    /// Finds the public key that belongs to a secret one (`zmq_curve_public`).
    ///
    /// - Parameter secretKey: As it was stored.
    /// - Throws: ``ZMQError/Code/notSupported`` if libzmq was built without CURVE.
    public init(secretKey: CurveSecretKey) throws(ZMQError) {
        var publicText = Z85.emptyKey
        try complete("derive CURVE key") { unsafe zmq_curve_public(&publicText, secretKey.z85) }
        self.init(publicKey: CurvePublicKey(valid: Z85.text(of: publicText)), secretKey: secretKey)
    }

    private init(publicKey: CurvePublicKey, secretKey: CurveSecretKey) {
        self.publicKey = publicKey
        self.secretKey = secretKey
    }
}

/// A CURVE key of 32 bytes that everybody may know.
public struct CurvePublicKey: Hashable, Sendable, CustomStringConvertible {
    /// The key as 40 characters of Z85 (ZeroMQ RFC 32).
    public let z85: String

    /// Takes a key in text form; `nil` if that is no key of 32 bytes in Z85.
    ///
    /// - Parameter z85: 40 characters.
    public init?(z85: String) {
        guard Z85.isKey(z85) else { return nil }
        self.z85 = z85
    }

    /// Takes a key as its 32 bytes, as a ZAP request has it; `nil` if there are more or fewer.
    ///
    /// - Parameter bytes: 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.init(valid: Z85.text(ofKey: bytes))
    }

    fileprivate init(valid z85: String) {
        self.z85 = z85
    }

    /// Whether all of its bytes are zero: such a key is nobody's, since what it protects everybody can compute.
    public var isZero: Bool { z85.utf8.allSatisfy { $0 == UInt8(ascii: "0") } }

    /// The key as 40 characters of Z85.
    public var description: String { z85 }
}

/// A CURVE key of 32 bytes that only its owner may know; printing it prints no part of it.
public struct CurveSecretKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The key as 40 characters of Z85 (ZeroMQ RFC 32).
    public let z85: String

    /// Takes a key in text form; `nil` if that is no key of 32 bytes in Z85.
    ///
    /// - Parameter z85: 40 characters.
    public init?(z85: String) {
        guard Z85.isKey(z85) else { return nil }
        self.z85 = z85
    }

    fileprivate init(valid z85: String) {
        self.z85 = z85
    }

    /// Says only that there is a key.
    public var description: String { "CurveSecretKey" }

    /// Says only that there is a key.
    public var debugDescription: String { description }

    /// Has no part of the key, so that no dump of a value that holds it has one.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The text form of binary keys: five characters for four bytes (ZeroMQ RFC 32).
private enum Z85 {
    /// Room for the 40 characters of a key and the zero that ends them in C.
    static let emptyKey = [CChar](repeating: 0, count: 41)

    static func isKey(_ text: String) -> Bool {
        // The count first, and no zero byte: libzmq writes four bytes for every five characters it finds.
        guard text.utf8.count == 40, !text.utf8.contains(0) else { return false }
        var key = [UInt8](repeating: 0, count: 32)
        return unsafe zmq_z85_decode(&key, text) != nil
    }

    /// The text of a key of 32 bytes.
    static func text(ofKey bytes: [UInt8]) -> String {
        var characters = emptyKey
        _ = unsafe zmq_z85_encode(&characters, bytes, bytes.count)
        return text(of: characters)
    }

    static func text(of characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

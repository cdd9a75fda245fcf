import ZeroMQ

/// Texts of keys: taken if and only if they are 32 bytes in Z85, which is decided here once more (ZeroMQ RFC 32).
enum KeyTarget {
    /// Derives the public key as well, which takes 10,000 times as long as reading one.
    static let derives: UInt8 = 0xA5

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let flags = input.byte()
        let text = String(decoding: input.rest(), as: UTF8.self)
        let isKey = isKey(text)
        let publicKey = CurvePublicKey(z85: text)
        let secretKey = CurveSecretKey(z85: text)
        try checks.holds((publicKey != nil) == isKey, "a public key \"\(text)\" was taken: \(!isKey)")
        try checks.holds((secretKey != nil) == isKey, "a secret key was taken: \(!isKey)")
        guard let publicKey, let secretKey else { return }
        try checks.same(publicKey.z85, text, "a key's text")
        try checks.holds(publicKey.description == text, "a public key shows itself")
        try checks.holds(!"\(secretKey)\(String(reflecting: secretKey))".contains(text), "a secret key shows itself")
        guard flags == derives else { return }
        let pair: CurveKeyPair
        do throws(ZMQError) {
            pair = try CurveKeyPair(secretKey: secretKey)
        } catch {
            throw FuzzFinding(description: "a key has no public key: \(error)")
        }
        try checks.holds(CurvePublicKey(z85: pair.publicKey.z85) == pair.publicKey, "a derived key is no key")
    }

    private static let alphabet = Array(
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#".utf8)
    private static let values: [UInt64?] = (0...255).map { byte in
        alphabet.firstIndex(of: UInt8(byte)).map(UInt64.init)
    }

    /// 40 characters of the alphabet, each five of which are a number of 32 bits.
    private static func isKey(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 40 else { return false }
        for start in stride(from: 0, to: 40, by: 5) {
            var number: UInt64 = 0
            for byte in bytes[start..<start + 5] {
                guard let value = values[Int(byte)] else { return false }
                number = number * 85 + value
            }
            guard number <= UInt64(UInt32.max) else { return false }
        }
        return true
    }
}

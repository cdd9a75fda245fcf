/// Which of a node's public keys a link tries next, while one takes the place of the other (PROTOCOL, R-67).
///
/// An attempt that had no WELCOME is followed by one with the other key; a key that brought a WELCOME is kept.
package struct KeyTurn: Hashable, Sendable {
    private var endpoint = ""
    private var attempt = 0
    private var isProven = false

    package init() {}

    /// The keys for the next connection; nil if none are known for the endpoint.
    package mutating func next(for endpoint: String, of keys: [DialKeys]) -> DialKeys? {
        if self.endpoint != endpoint { (self.endpoint, attempt, isProven) = (endpoint, -1, false) }
        if !isProven { attempt += 1 }
        isProven = false
        guard !keys.isEmpty else { return nil }
        return keys[attempt % keys.count]
    }

    /// The connection brought a WELCOME.
    package mutating func proved() { isProven = true }
}

/// How a router names one connection of a peer.
///
/// libzmq makes one of 5 bytes for every connection; a reconnected peer has a new one. It says nothing about who the
/// peer is. Ids of up to 8 bytes are held inline, so making, comparing and hashing them allocates nothing; longer ones,
/// which only a peer with a name of its own choice can have, are held in an array.
public struct RoutingID: Hashable, Sendable {
    private let storage: Storage

    private enum Storage: Hashable, Sendable {
        /// The first byte is the lowest.
        case inline(UInt64, count: UInt8)
        case array([UInt8])
    }

    /// Takes an id of 1 to 255 bytes, as ZMTP allows; `nil` if there are fewer or more.
    ///
    /// - Parameter bytes: The id.
    public init?(_ bytes: [UInt8]) {
        guard (1...255).contains(bytes.count) else { return nil }
        self.init(received: unsafe bytes.span.bytes)
    }

    /// Takes what a router received as a message's first frame.
    init(received bytes: RawSpan) {
        storage = unsafe bytes.withUnsafeBytes { bytes in
            guard bytes.count <= 8 else { return .array(unsafe [UInt8](bytes)) }
            var word: UInt64 = 0
            for place in 0..<bytes.count {
                word |= unsafe UInt64(bytes[place]) << (8 * UInt64(place))
            }
            return .inline(word, count: UInt8(bytes.count))
        }
    }

    /// The bytes as they go over the wire.
    public var bytes: [UInt8] {
        switch storage {
        case .inline(let word, let count): (0..<count).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        case .array(let bytes): bytes
        }
    }

    /// Lends the bytes as they go over the wire.
    func withBytes<Result, Failure: Error>(
        _ body: (RawSpan) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch storage {
        case .inline(let word, let count):
            try unsafe withUnsafeBytes(of: word.littleEndian) { all throws(Failure) in
                try body(unsafe all.bytes.extracting(first: Int(count)))
            }
        case .array(let bytes):
            try body(unsafe bytes.span.bytes)
        }
    }
}

extension RoutingID: CustomStringConvertible {
    /// The bytes in hexadecimal, as they would stand in a log.
    public var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

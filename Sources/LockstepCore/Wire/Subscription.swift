/// What a peer sends to the broadcast port: the channel whose frames it wants (PROTOCOL, R-39).
///
/// The one message that is not a frame: the byte 1, then the four bytes with which each frame of the channel begins.
package struct Subscription: Hashable, Sendable {
    package var channel: Channel

    package static let byteCount = 5
    private static let mark: UInt8 = 1

    package init(channel: Channel) {
        self.channel = channel
    }

    /// Takes what came on the broadcast port; `nil` if it is anything else.
    package init?(_ message: RawSpan) {
        guard message.byteCount == Self.byteCount else { return nil }
        var reader = ByteReader(message)
        // The length was looked at, so nothing is missing.
        guard (try? reader.read(UInt8.self, from: message)) == Self.mark,
            (try? reader.read(UInt16.self, from: message)) == FrameHeader.magic,
            let channel = try? reader.read(UInt16.self, from: message)
        else { return nil }
        self.channel = Channel(rawValue: channel)
    }

    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount)
        writer.write(Self.mark)
        writer.write(FrameHeader.magic)
        writer.write(channel.rawValue)
        return writer.bytes
    }

    /// The channel of a frame that is about to be broadcast.
    package static func channel(of frame: RawSpan) -> Channel? {
        var reader = ByteReader(frame)
        guard (try? reader.skip(2)) != nil, let number = try? reader.read(UInt16.self, from: frame) else { return nil }
        return Channel(rawValue: number)
    }
}

import Foundation

/// A peer that speaks ZMTP 3.0 over a plain TCP connection, to say what libzmq itself would not.
final class ForeignPeer {
    private let descriptor: Int32

    /// Connects to an endpoint such as `tcp://127.0.0.1:7400`.
    init(connectingTo endpoint: String) throws {
        let port = UInt16(endpoint.split(separator: ":").last ?? "") ?? 0
        #if canImport(Glibc)
            let stream = Int32(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        descriptor = socket(AF_INET, stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Silence() }
    }

    /// Leaves without a word.
    deinit { close(descriptor) }

    /// Agrees on ZMTP 3.0 without security; only after the other side's part may a peer send messages.
    func shakeHands(as type: String = "DEALER") throws {
        try send(Self.greeting)
        _ = try receive(count: Self.greeting.count)
        try send(Self.ready(type))
        let header = try receive(count: 2)
        _ = try receive(count: Int(header[1]))
    }

    private func receive(count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var byte: UInt8 = 0
            guard read(descriptor, &byte, 1) == 1 else { throw Silence() }
            bytes.append(byte)
        }
        return bytes
    }

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Silence() }
            rest = rest.dropFirst(count)
        }
    }

    // MARK: - ZMTP

    /// Version 3.0, no security.
    private static let greeting: [UInt8] =
        [0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 3, 0] + Array("NULL".utf8) + [UInt8](repeating: 0, count: 48)

    /// The end of the handshake, as a socket of a type.
    private static func ready(_ type: String) -> [UInt8] {
        command("READY", [11] + Array("Socket-Type".utf8) + [0, 0, 0, UInt8(type.utf8.count)] + Array(type.utf8))
    }

    /// A heartbeat with a time to live of zero.
    static let ping = command("PING", [0, 0])

    /// A frame of up to 255 bytes, the last of its message or not.
    static func message(_ bytes: [UInt8], more: Bool = false) -> [UInt8] {
        [more ? 1 : 0, UInt8(bytes.count)] + bytes
    }

    private static func command(_ name: String, _ body: [UInt8]) -> [UInt8] {
        [4, UInt8(1 + name.utf8.count + body.count), UInt8(name.utf8.count)] + Array(name.utf8) + body
    }
}

internal import CZlib

/// Reads gzip files (RFC 1952), such as those below /usr/share/doc, with zlib.
enum Gzip {
    enum Failure: Error, Hashable {
        /// The input ends too early.
        case ended
        /// It is no gzip file, or a damaged one.
        case damaged
    }

    /// The bytes of all members, at most `limit` of them, and whether there are more.
    static func decompress(_ input: [UInt8], limit: Int) throws(Failure) -> (bytes: [UInt8], isCut: Bool) {
        var stream = z_stream()
        // 15 bits of window, and 16 for a gzip header, whose checksum zlib compares.
        guard lockstep_inflate_init(&stream, 15 + 16) == Z_OK else { throw .damaged }
        defer { inflateEnd(&stream) }
        var (output, part) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        var position = 0
        while true {
            let (status, taken, given) = step(&stream, input, from: position, into: &part)
            position += taken
            output += part[..<given]
            if output.count > limit { return (Array(output.prefix(limit)), true) }
            switch status {
            case Z_OK where taken > 0 || given > 0: continue
            case Z_STREAM_END:
                // What follows a member is another one, or padding.
                guard input[position...].starts(with: [0x1F, 0x8B]) else { return (output, false) }
                guard inflateReset(&stream) == Z_OK else { throw .damaged }
            case Z_OK, Z_BUF_ERROR: throw .ended
            default: throw .damaged
            }
        }
    }

    /// One call of zlib: its status, and how many bytes it took and gave.
    private static func step(
        _ stream: inout z_stream, _ input: [UInt8], from position: Int, into part: inout [UInt8]
    ) -> (status: Int32, taken: Int, given: Int) {
        let (offered, room) = (min(input.count - position, 1 << 20), part.count)
        let status = input.withUnsafeBufferPointer { input in
            part.withUnsafeMutableBufferPointer { part in
                // zlib reads its input and does not write to it, whatever the type says.
                stream.next_in = input.baseAddress.map { UnsafeMutablePointer(mutating: $0 + position) }
                stream.avail_in = UInt32(offered)
                stream.next_out = part.baseAddress
                stream.avail_out = UInt32(room)
                return inflate(&stream, Z_NO_FLUSH)
            }
        }
        return (status, offered - Int(stream.avail_in), room - Int(stream.avail_out))
    }
}

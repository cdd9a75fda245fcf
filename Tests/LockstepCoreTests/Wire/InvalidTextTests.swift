import LockstepCore
import Testing

/// Names on the wire that are not UTF-8.
@Suite struct InvalidTextTests {
    /// Goal: a name that is not UTF-8 makes its frame unreadable; repaired, it might be another's (PROTOCOL R-10,
    /// section 3).
    @Test(arguments: [[0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x61, 0x80]] as [[UInt8]])
    func aNameThatIsNotTextIsRefused(name: [UInt8]) throws {
        func frame(node: [UInt8], store: [UInt8]) -> [UInt8] {
            let header = FrameHeader(channel: .none, kind: .hello, clusterHash: 0, epoch: .zero)
            return header.frame(capacity: 128) { writer in
                writer.write(UInt64(1))
                writer.write(UInt8(1))
                writer.writeBytes(node)
                writer.write128(0)
                writer.write128(1)
                writer.writeBytes(store)
                writer.writeKnownPosition(.none)
                writer.writeBool(false)
            }
        }
        func problem(_ frame: [UInt8]) -> WireError.Problem? {
            do throws(WireError) {
                _ = try withBytes(of: frame) { (span) throws(WireError) in try Message.decode(span, rule: .any) }
                return nil
            } catch {
                return error.problem
            }
        }
        #expect(problem(frame(node: [0x61], store: [0x62])) == nil)
        #expect(problem(frame(node: name, store: [0x62])) == .invalidText)
        #expect(problem(frame(node: [0x61], store: name)) == .invalidText)
    }
}

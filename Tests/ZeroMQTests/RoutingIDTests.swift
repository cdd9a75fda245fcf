import Testing
import ZeroMQ

struct RoutingIDTests {
    @Test(arguments: [1, 5, 7, 8, 9, 255])
    func idsKeepTheirBytes(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: 255 - $0) }
        let id = try #require(RoutingID(bytes))
        #expect(id.bytes == bytes)
        #expect(id == RoutingID(bytes))
        #expect(id.hashValue == RoutingID(bytes)?.hashValue)
    }

    @Test func idsThatDifferOnlyInZeroBytesAreDifferent() {
        let ids = [[0], [0, 0], [0, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0]].map { RoutingID($0) }
        #expect(Set(ids).count == 4)
    }

    @Test func anIDHasOneTo255Bytes() {
        #expect(RoutingID([]) == nil)
        #expect(RoutingID([UInt8](repeating: 0, count: 256)) == nil)
    }

    @Test func anIDIsPrintedInHexadecimal() {
        #expect(RoutingID([0, 0x0A, 0xFF])?.description == "000aff")
    }
}

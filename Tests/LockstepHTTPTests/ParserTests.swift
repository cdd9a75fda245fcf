import LockstepHTTP
import Testing

/// Heads of requests as bytes: what is not one is refused, and nothing traps.
@Suite struct ParserTests {
    private static let head = Array(
        "GET /path?name=a%20b&x=1 HTTP/1.1\r\nHost: localhost:9100\r\nAccept: */*\r\nLast-Event-ID: 7\r\n\r\n".utf8)

    /// Nil if the head is not complete.
    private func parse(_ bytes: [UInt8]) -> Result<RequestHead, RequestHead.Refusal>? {
        RequestHead.end(of: bytes, from: 0).map { end in
            Result { () throws(RequestHead.Refusal) in try RequestHead(bytes[..<end]) }
        }
    }

    @Test func aHeadIsTakenApart() throws {
        let request = try #require(try parse(Self.head)?.get())
        #expect(request.path == "/path")
        #expect(request.parameters == ["name": "a b", "x": "1"])
        #expect(request.host == "localhost:9100")
        #expect(request.lastEventID == "7")
        #expect(request.isPersistent && !request.isHead)
    }

    @Test func aHeadThatIsCutIsNotComplete() {
        for end in 0..<Self.head.count { #expect(parse(Array(Self.head[..<end])) == nil, "cut at \(end)") }
    }

    /// A flipped bit makes another request or a refusal, and never something that is neither.
    @Test func flippedBitsAreAnsweredOrRefused() {
        var refused = 0
        for place in Self.head.indices {
            for bit in 0..<8 {
                var bytes = Self.head
                bytes[place] ^= 1 << bit
                switch parse(bytes) {
                case .failure(let refusal):
                    refused += 1
                    #expect([400, 405, 413, 431, 505].contains(refusal.status))
                case .success(let request): #expect(request.path.hasPrefix("/"))
                case nil: break
                }
            }
        }
        #expect(refused > 200)
    }

    @Test(arguments: [
        ("GET / HTTP/1.0\r\n\r\n", false), ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true), ("GET / HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x , close\r\n\r\n", false),
    ])
    func aConnectionGoesOnIfBothSidesCan(text: String, isPersistent: Bool) throws {
        #expect(try parse(Array(text.utf8))?.get().isPersistent == isPersistent)
    }
}

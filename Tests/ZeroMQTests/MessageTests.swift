import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct MessageTests {
    let context: Context

    init() throws {
        context = try Context()
    }

    /// 33 bytes fit into libzmq's own structure, 34 do not, and 1 MiB does not fit into one read.
    @Test(arguments: Transport.allCases, [0, 1, 33, 34, 8_192, 1_048_576])
    func aMessageOfAnySizeArrivesWholeAndComesBack(over transport: Transport, size: Int) throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(transport))
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }

        let isSent = try dealer.send(bytes)
        #expect(isSent)
        let (peer, received) = try router.next()
        #expect(received == bytes)
        let outcome = try router.send(received, to: peer)
        #expect(outcome == .sent)
        let answer = try dealer.next()
        #expect(answer == bytes)
    }

    @Test func arraysSlicesAndSpansSendTheSameBytes() throws {
        var left = try Socket<Pair>(in: context)
        var right = try Socket<Pair>(in: context)
        try right.connect(to: left.bindAnywhere())
        let bytes: [UInt8] = [0, 1, 2, 3, 4]
        var word: UInt32 = 0x0403_0201
        let isArraySent = try left.send(bytes)
        let isSliceSent = try left.send(bytes[1...])
        let isSpanSent = try withUnsafeBytes(of: &word) { try left.send($0.bytes) }
        #expect(isArraySent && isSliceSent && isSpanSent)
        #expect(try right.next() == [0, 1, 2, 3, 4])
        #expect(try right.next() == [1, 2, 3, 4])
        #expect(try right.next() == [1, 2, 3, 4])
    }

    @Test func aMessageThatWasKeptDoesNotChangeWhenTheNextIsReceived() throws {
        var left = try Socket<Pair>(in: context)
        var right = try Socket<Pair>(in: context)
        try right.connect(to: left.bindAnywhere())
        for number in UInt8(0)..<50 {
            try left.deliver([UInt8](repeating: number, count: Int(number)))
        }
        var (message, kept) = (Message(), [Message]())
        for _ in 0..<50 {
            try right.waitUntilReadable()
            let received = try right.receive(into: &message)
            #expect(received == .message)
            kept.append(message)
        }
        #expect(kept.map(\.count) == Array(0..<50))
        #expect(kept.enumerated().allSatisfy { number, message in message.bytes.allSatisfy { $0 == number } })
    }

    @Test func aMessageThatWasNotKeptIsReceivedIntoTheSameMemory() throws {
        var left = try Socket<Pair>(in: context)
        var right = try Socket<Pair>(in: context)
        try right.connect(to: left.bindAnywhere())
        var message = Message()
        var addresses: Set<UInt> = []
        for number in UInt8(0)..<10 {
            try left.deliver([number])
            try right.waitUntilReadable()
            _ = try right.receive(into: &message)
            message.withBytes { bytes in
                bytes.withUnsafeBytes { _ = addresses.insert(UInt(bitPattern: $0.baseAddress)) }
            }
        }
        #expect(addresses.count == 1)
    }

    @Test func aMessageCanBeReadAndFreedOnAnotherThread() throws {
        var left = try Socket<Pair>(in: context)
        var right = try Socket<Pair>(in: context)
        try right.connect(to: left.bindAnywhere(.tcp))
        try left.deliver([UInt8](repeating: 7, count: 10_000))
        try right.waitUntilReadable()
        var message = Message()
        _ = try right.receive(into: &message)
        let sum = try OtherThread { [message] in message.bytes.reduce(0) { $0 + Int($1) } }.join()
        #expect(sum == 70_000)
    }

    @Test func aNewMessageIsEmpty() {
        let message = Message()
        #expect(message.isEmpty)
        #expect(message.bytes == [])
        #expect(message.withBytes { $0.byteCount } == 0)
    }

    @Test func whatTheBodyOfWithBytesThrowsComesOut() {
        struct Refusal: Error {}
        #expect(throws: Refusal.self) { try Message().withBytes { _ throws(Refusal) in throw Refusal() } }
    }

    @Test func aMessageKnowsWhatItsConnectionSaysAboutThePeer() throws {
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere(.tcp))
        try dealer.deliver([1])
        try router.waitUntilReadable()
        var message = Message()
        _ = try router.receive(into: &message)
        #expect(message.property(.socketType) == "DEALER")
        #expect(message.property(.peerAddress) == "127.0.0.1")
        #expect(message.property(.userID) == nil)
        #expect(Message().property(.socketType) == nil)
    }
}

import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct ContextTests {
    /// Each of these would wait for ever with libzmq's own defaults.
    @Test func terminationDoesNotWaitForMessagesThatCannotLeave() throws {
        var dealer = try Socket<Dealer>(in: Context())
        try dealer.connect(to: "tcp://127.0.0.1:9")
        let isSent = try dealer.send([UInt8](repeating: 1, count: 1_000_000))
        #expect(isSent)
    }

    @Test func aSocketKeepsItsContext() throws {
        var left = try Socket<Pair>(in: Context())
        let endpoint = try left.bindAnywhere(.tcp)
        var right = try Socket<Pair>(in: Context())
        try right.connect(to: endpoint)
        try right.deliver([1])
        #expect(try left.next() == [1])
    }

    @Test func shutdownEndsAWaitWithoutTimeOutOnAnotherThread() throws {
        let context = try Context()
        let waiting = OtherThread { () -> ZMQError.Code? in
            do throws(ZMQError) {
                let socket = try Socket<Dealer>(in: context)
                let poller = Poller<Int>()
                poller.add(socket, as: 0)
                try poller.wait(timeout: nil)
                return nil
            } catch {
                return error.code
            }
        }
        context.shutdown()
        #expect(try waiting.join() == .contextTerminated)
    }

    @Test func afterShutdownEveryOperationSaysSo() throws {
        let context = try Context()
        var socket = try Socket<Dealer>(in: context)
        _ = try socket.bindAnywhere()
        context.shutdown()
        context.shutdown()
        var message = Message()
        func code(_ body: () throws(ZMQError) -> Void) -> ZMQError.Code? {
            do throws(ZMQError) { try body() } catch { return error.code }
            return nil
        }
        #expect(code { () throws(ZMQError) in while try !socket.send([1]) {} } == .contextTerminated)
        #expect(code { () throws(ZMQError) in _ = try socket.receive(into: &message) } == .contextTerminated)
        #expect(code { () throws(ZMQError) in try socket.connect(to: "tcp://127.0.0.1:9") } == .contextTerminated)
        #expect(code { () throws(ZMQError) in _ = try Socket<Pair>(in: context) } == .contextTerminated)
    }

    @Test func shutdownWithAMonitorDoesNotHang() throws {
        let context = try Context()
        var socket = try Socket<Router>(in: context)
        let monitor = try SocketMonitor(socket)
        _ = try socket.bindAnywhere(.tcp)
        context.shutdown()
        let error = #expect(throws: ZMQError.self) {
            while try monitor.next() != nil {}
        }
        #expect(error?.code == .contextTerminated)
        socket.close()
    }

    @Test func moreSocketsThanAllowedAreRefused() throws {
        let context = try Context(maxSockets: 1)
        let first = try Socket<Pair>(in: context)
        let error = #expect(throws: ZMQError.self) { _ = try Socket<Pair>(in: context) }
        #expect(error?.code == .tooManySockets)
        first.close()
    }

    @Test(arguments: [(0, 1), (-1, 1), (100_000, 1), (1, 0), (1, -1), (1, 70_000)])
    func numbersOutOfRangeAreRefused(ioThreads: Int, maxSockets: Int) {
        let error = #expect(throws: ZMQError.self) {
            _ = try Context(ioThreads: ioThreads, maxSockets: maxSockets)
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func theLibraryIsOneThatThisModuleIsMadeFor() {
        #expect(ZMQ.version >= ZMQ.Version(4, 3, 4))
        #expect(ZMQ.Version(4, 3, 10) > ZMQ.Version(4, 3, 9))
        #expect(ZMQ.Version(4, 3, 4).description == "4.3.4")
        #expect(ZMQ.has("ipc"))
        #expect(!ZMQ.has("nonsense"))
    }
}

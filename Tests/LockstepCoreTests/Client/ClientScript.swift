import LockstepCore
import Testing

/// A client and the frames that it sends, decoded; the test plays the primary.
struct ClientScript {
    var client: ClientStateMachine
    var now = Tick.zero
    var primary = ModelPrimary()
    /// What the last event made the client do, but for counters.
    var directives: [ClientDirective] = []
    static let session = SessionID(epoch: Epoch(rawValue: 5), sequence: SequenceNumber(rawValue: 2))

    init(
        wantsSession: Bool = true, cluster: ClusterID? = ModelPrimary.cluster, others: [String] = [],
        timeToLive: Int64 = 60_000_000, buggify: Buggify = .off
    ) {
        client = ClientStateMachine(
            configuration: ClientConfiguration(
                store: "s", node: "n", role: .client, client: ClientKey(rawValue: 7), boot: BootID(rawValue: 8),
                incarnation: Incarnation(rawValue: 9), cluster: cluster, endpoint: "home", others: others,
                timeToLive: timeToLive, seed: 1, wantsSession: wantsSession, buggify: buggify))
        event { client, now, directives in client.start(now: now, into: &directives) }
    }

    /// Runs one event and the end of its turn.
    mutating func event(_ body: (inout ClientStateMachine, Tick, inout [ClientDirective]) -> Void) {
        var directives: [ClientDirective] = []
        body(&client, now, &directives)
        client.turnEnded(now: now, into: &directives)
        client.checkInvariants()
        self.directives = directives.filter { if case .count = $0 { false } else { true } }
    }

    mutating func receive(_ message: Message, source: [UInt8] = []) {
        receive(withBytes(of: source) { primary.stamp.frame(message, source: $0) })
    }

    mutating func receive(_ frame: [UInt8]) {
        event { client, now, directives in
            withBytes(of: frame) { client.received($0, now: now, into: &directives) }
        }
    }

    /// Lets time pass in the steps that the client asks for; returns all that it did.
    @discardableResult
    mutating func wait(_ milliseconds: Int64) -> [ClientDirective] {
        let end = now.advanced(byMilliseconds: milliseconds)
        var all: [ClientDirective] = []
        while client.nextDeadline <= end {
            now = max(now, client.nextDeadline)
            event { client, now, directives in client.ticked(now: now, into: &directives) }
            all += directives
        }
        now = end
        directives = all
        return all
    }

    var sent: [Message] {
        directives.compactMap { directive in
            guard case .send(let frame) = directive else { return nil }
            return withBytes(of: frame) { try? Message.decode($0, rule: .any).message }
        }
    }

    /// The nonce of the newest HELLO that was sent by the last event.
    var helloNonce: UInt64? {
        sent.compactMap { if case .hello(let hello) = $0 { hello.nonce } else { nil } }.last
    }

    /// WELCOME to the HELLO that was just sent.
    mutating func welcome() throws { receive(.welcome(primary.welcome(nonce: try #require(helloNonce)))) }

    /// Welcomed, and a session open.
    mutating func open() throws {
        try welcome()
        receive(opened(try #require(openNonce)))
    }

    var openNonce: UInt64? {
        sent.compactMap { if case .open(let open) = $0 { open.nonce } else { nil } }.last
    }

    func opened(_ nonce: UInt64) -> Message {
        .opened(
            Opened(
                nonce: nonce, session: Self.session, timeToLive: client.configuration.timeToLive,
                windowNumbers: 131_072, windowBytes: 1 << 20))
    }

    /// Submits `count` actions of one byte in one chunk.
    @discardableResult
    mutating func submit(_ count: Int) -> RequestNumber? {
        var first: RequestNumber?
        event { client, now, directives in
            first = client.submit(
                (0..<count).flatMap { [1, UInt8($0 % 250)] }, count: count, now: now, into: &directives)
        }
        return first
    }

    /// The answers to `numbers`, each one byte, its number.
    mutating func answer(_ numbers: ClosedRange<RequestNumber>, sequence: UInt64 = 100) {
        let items = numbers.flatMap { [UInt8(1 << 2), UInt8(truncatingIfNeeded: $0)] }
        let run = ResultSeries(
            session: Self.session, first: numbers.lowerBound, count: numbers.count, epoch: Epoch(rawValue: 5),
            firstSequence: SequenceNumber(rawValue: sequence), items: 0..<items.count)
        receive(.result(run), source: items)
    }

    /// First number, count, and whether void, of the SUBMITs of the last event.
    var submits: [[UInt64]] {
        sent.compactMap { message in
            guard case .submit(let submit) = message else { return nil }
            return [submit.first, UInt64(submit.count), submit.isVoid ? 1 : 0, submit.ackedThrough]
        }
    }

    var answers: [ClientDirective.Answers] {
        directives.compactMap { if case .answered(let answers) = $0 { answers } else { nil } }
    }

    var lost: [ClosedRange<RequestNumber>?] {
        directives.compactMap { if case .lost(_, let numbers) = $0 { numbers } else { nil } }
    }

    var connects: [String] {
        directives.compactMap { if case .connect(let endpoint) = $0 { endpoint } else { nil } }
    }
}

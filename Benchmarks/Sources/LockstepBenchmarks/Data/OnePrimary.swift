import Counters
import Lockstep
import LockstepCore

/// A primary's machine with 100,000 counters, whose journal has written as soon as it is asked.
///
/// Peers are lists of frames. Time goes on when it is told to.
final class OnePrimary {
    let state: ReactorState<Counters>
    private(set) var machine: PrimaryStateMachine
    private(set) var now = Tick(rawValue: 5_000_000_000)
    private var directives: [PrimaryDirective] = []

    /// Whether what leaves the machine is kept; if not, it is let go at once.
    var keepsOutput = false
    private(set) var sent: [[UInt8]] = []
    private(set) var sentBulk: [[UInt8]] = []
    private(set) var published: [[UInt8]] = []
    private(set) var batches: [SealedBatch] = []

    /// Begins its epoch, and has it in the journal.
    init(_ names: Workload.Names = .short, keepingOutput: Bool = false) throws {
        keepsOutput = keepingOutput
        state = try Workload.reactorState(names)
        let configuration = PrimaryConfiguration(
            cluster: Workload.cluster, node: "p1", incarnation: Incarnation(rawValue: 11), boot: BootID(rawValue: 12),
            channel: Workload.channel, storeName: Workload.storeName, isVolatile: false, publishEndpoint: "tcp://h:2",
            bulkEndpoint: "tcp://h:3")
        machine = PrimaryStateMachine(
            configuration: configuration, recovered: LogState(store: Workload.store), window: ResendWindow(),
            wall: Workload.beginning, now: now)
        step { $0.start(&$1) }
        execute()
    }

    /// The time of day goes with the node's clock.
    private var wall: LogTime { LogTime(rawValue: Workload.beginning.rawValue + now.rawValue / 1_000) }

    var stamp: FrameStamp {
        FrameStamp(channel: Workload.channel, clusterHash: Workload.cluster.hash, epoch: machine.epoch)
    }

    func advance(milliseconds: Int64) { now = now.advanced(byMilliseconds: milliseconds) }

    func receive(_ frame: [UInt8], from connection: Connection) {
        withBytes(of: frame) { frame in step { $0.received(frame, from: connection, &$1) } }
        execute()
    }

    func receiveBulk(_ frame: [UInt8], from connection: Connection) {
        withBytes(of: frame) { frame in step { $0.bulkReceived(frame, from: connection, &$1) } }
        execute()
    }

    func tick() {
        step { $0.ticked(&$1) }
        execute()
    }

    /// The end of a turn; what was sequenced is in the journal when this returns.
    func endTurn() {
        step { $0.turnEnded(&$1) }
        execute()
    }

    private func step(_ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Void) {
        machine.step(now: now, wall: wall, state: state, into: &directives, event)
    }

    private func execute() {
        var isPersisting = false
        for directive in directives {
            switch directive {
            case .persist(let written):
                isPersisting = true
                if keepsOutput { batches += written }
            case .send(let frame, _): if keepsOutput { sent.append(frame) }
            case .sendBulk(let frame, _): if keepsOutput { sentBulk.append(frame) }
            case .publish(let frame): if keepsOutput { published.append(frame) }
            case .committed, .sendChunks, .captureSnapshot, .encodeSnapshot, .encodeCommitted, .saveSnapshot,
                .dropSnapshot, .beginRun, .stopRun, .emission, .runEnd, .awaiting, .opened, .audienceChanged, .alarm,
                .halt, .count, .replication:
                break
            }
        }
        directives.removeAll(keepingCapacity: true)
        guard isPersisting else { return }
        step { $0.persisted(&$1) }
        execute()
    }

    /// What was sent since this was last called.
    func takeSent() -> [[UInt8]] {
        defer { sent = [] }
        return sent
    }

    func takeSentBulk() -> [[UInt8]] {
        defer { sentBulk = [] }
        return sentBulk
    }

    func takePublished() -> [[UInt8]] {
        defer { published = [] }
        return published
    }

    func takeBatches() -> [SealedBatch] {
        defer { batches = [] }
        return batches
    }

    func forgetOutput() { (sent, sentBulk, published, batches) = ([], [], [], []) }
}

/// A session of a primary, whose frames are written by hand: a client as cheap as can be.
struct OneSession {
    static let connection = Connection(rawValue: 1)
    let id: SessionID
    private(set) var next: RequestNumber = 1
    /// What the next frames acknowledge.
    var ackedThrough: RequestNumber = 0
    private let stamp: FrameStamp

    /// Says HELLO and OPEN, as the client of this key.
    init(with primary: OnePrimary, client: UInt128 = 1) throws {
        stamp = primary.stamp
        let hello = Hello(
            nonce: 1, role: .client, node: "c1", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 1),
            store: Workload.storeName, known: .none)
        let open = Open(
            client: ClientKey(rawValue: client), nonce: 1, timeToLive: 7 * 86_400 * 1_000_000,
            windowNumbers: Limits.windowNumbers, windowBytes: Limits.windowBytes)
        let keepsOutput = primary.keepsOutput
        primary.keepsOutput = true
        primary.receive(stamp.frame(.hello(hello)), from: Self.connection)
        primary.receive(stamp.frame(.open(open)), from: Self.connection)
        primary.endTurn()
        primary.keepsOutput = keepsOutput
        var opened: SessionID?
        for frame in primary.takeSent() {
            let message = try withBytes(of: frame) { (span) throws(WireError) in
                try Message.decode(span, rule: .any).message
            }
            if case .opened(let answer) = message { opened = answer.session }
        }
        guard let opened else { throw Failure("the primary opened no session") }
        id = opened
    }

    /// The SUBMIT of the next `count` numbers.
    mutating func submit(_ actions: [UInt8], count: Int) -> [UInt8] {
        defer { next += UInt64(count) }
        return withBytes(of: actions) { bytes in
            let submit = Submit(
                session: id, first: next, ackedThrough: ackedThrough, count: count, isVoid: false,
                actions: 0..<bytes.byteCount)
            return stamp.frame(.submit(submit), source: bytes)
        }
    }

    /// Says that it has every answer, with the next frames.
    mutating func acknowledgeAll() { ackedThrough = next - 1 }
}

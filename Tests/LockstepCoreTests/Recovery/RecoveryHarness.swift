import LockstepCore

/// A recovery's machine, the node that it asks, and the journal that it writes.
struct RecoveryHarness {
    var publisher: TestPublisher
    var machine: RecoveryStateMachine
    var now = Tick.zero.advanced(byMilliseconds: 5_000)
    /// All that was directed, in order, without what was sent.
    var directives: [RecoveryDirective] = []
    /// What was sent and has no answer yet.
    var pending: [(frame: [UInt8], link: RecoveryLinkName)] = []
    /// What the journal was given.
    var appended: [SealedBatch] = []
    /// How long the journal takes for a snapshot, in milliseconds: longer than the node is waited for.
    var replaceTime: Int64 = 60_000
    /// The journal's log at earlier places.
    var past: [LogState] = []

    /// A recovery of a journal that ends where `log` does; without one, it is empty.
    init(from publisher: TestPublisher, log: LogState? = nil, largestSnapshotBytes: UInt64 = 16 << 30) {
        self.publisher = publisher
        let configuration = RecoveryConfiguration(
            storeName: publisher.storeName, cluster: publisher.cluster, boot: BootID(rawValue: 0xB), seed: 7,
            largestSnapshotBytes: largestSnapshotBytes)
        machine = RecoveryStateMachine(
            configuration: configuration, log: log ?? LogState(store: publisher.log.store))
    }

    var end: RecoveryDirective? { machine.hasEnded ? directives.last : nil }

    var snapshots: [RecoverySnapshot] {
        directives.compactMap { directive in
            guard case .replace(let snapshot) = directive else { return nil }
            return snapshot
        }
    }

    /// Whether the journal was directed to change.
    var hasWritten: Bool {
        directives.contains { directive in
            switch directive {
            case .continueFrom, .replace, .append: true
            case .connectIngress, .connectBulk, .send, .progressed, .finished, .failed: false
            }
        }
    }

    /// The messages that wait for an answer.
    var asked: [Message] { pending.compactMap { decoded($0.frame) } }

    // MARK: - Events

    mutating func start() { step { $0.start(now: $1, into: &$2) } }

    /// Time passes, and the machine is told at each of its deadlines.
    mutating func pass(milliseconds: Int64) {
        let end = now.advanced(byMilliseconds: milliseconds)
        while machine.nextDeadline <= end {
            now = max(now, machine.nextDeadline)
            step { $0.ticked(now: $1, into: &$2) }
        }
        now = end
    }

    mutating func receive(_ frame: [UInt8], on link: RecoveryLinkName) {
        step { machine, now, directives in
            withBytes(of: frame) { machine.received($0, on: link, now: now, into: &directives) }
        }
    }

    mutating func receive(_ message: Message, on link: RecoveryLinkName = .bulk) {
        receive(publisher.stamp.frame(message), on: link)
    }

    /// Answers what was sent as a node does, until nothing waits, or until `isEnough`.
    mutating func run(until isEnough: (RecoveryHarness) -> Bool = { _ in false }) {
        while !pending.isEmpty, !isEnough(self) {
            let (frame, link) = pending.removeFirst()
            switch link {
            case .ingress:
                guard case .hello(let hello)? = decoded(frame) else { preconditionFailure("HELLO is said here") }
                receive(.welcome(welcome(nonce: hello.nonce)), on: .ingress)
            case .bulk: for answer in publisher.answer(frame, now: now) { receive(answer, on: .bulk) }
            }
        }
    }

    func welcome(nonce: UInt64) -> Welcome {
        var welcome = publisher.welcome
        welcome.nonce = nonce
        return welcome
    }

    // MARK: - Directives

    private mutating func step(
        _ event: (inout RecoveryStateMachine, Tick, inout [RecoveryDirective]) -> Void
    ) {
        var new: [RecoveryDirective] = []
        event(&machine, now, &new)
        machine.checkInvariants()
        for directive in new { execute(directive) }
    }

    private mutating func execute(_ directive: RecoveryDirective) {
        if case .send(let frame, let link) = directive { return pending.append((frame, link)) }
        directives.append(directive)
        switch directive {
        case .connectIngress: pending = []
        case .continueFrom(let place):
            guard let log = ([machine.log] + past).first(where: { $0.position == place }) else {
                preconditionFailure("the machine names a place of the journal")
            }
            step { $0.continued(at: log, now: $1, into: &$2) }
        case .replace:
            now = now.advanced(byMilliseconds: replaceTime)
            step { $0.continued(at: $0.log, now: $1, into: &$2) }
            pass(milliseconds: 0)
        case .append(let batches): appended += batches
        case .connectBulk, .send, .progressed, .finished, .failed: break
        }
    }
}

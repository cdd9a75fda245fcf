import Counters
import Lockstep
import LockstepCore

/// A replica's machine that follows a primary, without a journal.
final class OneReplica {
    private static let connection = Connection(rawValue: 9)
    private let primary: OnePrimary
    private(set) var machine: ReplicaStateMachine
    private let state: ReactorState<Counters>
    private var directives: [ReplicaDirective] = []
    private var requests: [[UInt8]] = []

    /// Joins: the primary repeats to it what is in its log.
    ///
    /// Both began with the same counters.
    init(of primary: OnePrimary) throws {
        self.primary = primary
        state = try Workload.reactorState()
        machine = ReplicaStateMachine(
            configuration: ReplicaConfiguration(
                storeName: Workload.storeName, node: "r1", cluster: Workload.cluster, boot: BootID(rawValue: 3),
                incarnation: Incarnation(rawValue: 3), channel: nil, hasJournal: false, bulkEndpoint: "", seed: 3),
            recovered: nil, window: ResendWindow())
        let configuration = primary.machine.configuration
        let welcome = Welcome(
            nonce: 1, cluster: Workload.cluster, role: .primary, isVolatile: false, node: configuration.node,
            incarnation: configuration.incarnation, boot: configuration.boot, channel: Workload.channel,
            store: Workload.store, commit: primary.machine.committed.position,
            publishEndpoint: configuration.publishEndpoint, bulkEndpoint: configuration.bulkEndpoint,
            primaryEndpoint: "", creditActions: UInt32(Limits.creditActions), creditBytes: UInt32(Limits.creditBytes),
            largestAction: UInt32(Limits.actionBytes))
        machine.welcomed(welcome, endpoint: "tcp://h:1", now: primary.now, state: state, into: &directives)
        run()
        for _ in 0..<20 where machine.phase != .live {
            // A beacon is due a tenth of a second after the last.
            primary.advance(milliseconds: 100)
            primary.tick()
            primary.endTurn()
            receive(primary.takePublished())
            converse()
        }
        guard machine.phase == .live else { throw Failure("the replica is \(machine.phase.name)") }
    }

    /// Receives frames of the broadcast.
    func receive(_ frames: [[UInt8]]) {
        for frame in frames {
            withBytes(of: frame) {
                machine.broadcastReceived($0, now: primary.now, state: state, into: &directives)
            }
            run()
        }
    }

    /// Brings requests to the primary and its answers back, until neither has anything to say.
    private func converse() {
        while !requests.isEmpty {
            primary.receiveBulk(requests.removeFirst(), from: Self.connection)
            for answer in primary.takeSentBulk() {
                withBytes(of: answer) {
                    machine.bulkReceived($0, now: primary.now, state: state, into: &directives)
                }
                run()
            }
        }
    }

    private func run() {
        for case .sendBulk(let frame) in directives { requests.append(frame) }
        directives.removeAll(keepingCapacity: true)
    }
}

import LockstepCore
import Testing

extension StandbyStateMachineTests {
    /// The standby, the time, and what it wanted.
    struct Standby {
        var machine: StandbyStateMachine
        var now = begin
        var wanted: [StandbyDirective] = []

        init(memory: ArbiterMemory = ArbiterMemory()) {
            var election = ElectionStateMachine.Configuration(
                candidate: .init(member: own, boot: BootID(rawValue: 2), endpoints: []))
            election.jitterMilliseconds = 0
            let log = KeptLog(
                store: PrimaryHarness.store, end: .start(of: PrimaryHarness.store), epochEnds: [], committed: .zero)
            machine = StandbyStateMachine(
                .init(election: election, stamp: stamp, seed: 4), log: log, promised: .zero, memory: memory, now: begin)
        }

        mutating func run(_ event: (inout StandbyStateMachine, Tick, inout [StandbyDirective]) -> Void) {
            wanted = []
            event(&machine, now, &wanted)
            machine.checkInvariants()
        }

        /// What it said to its primary in the last event.
        var said: [ReplicationRequest] {
            wanted.compactMap { directive in
                guard case .send(let frame) = directive else { return nil }
                let message = withBytes(of: frame) { try? Message.decode($0, rule: .any).message }
                return message.flatMap { ReplicationRequest($0) }
            }
        }

        /// Follows the primary of the record, and returns the number of its stream.
        mutating func fetch() -> UInt64 {
            run { $0.start(into: &$2) }
            run { $0.recordRead(record, request: 1, now: $1, into: &$2) }
            guard case .fetch(let fetch)? = said.first else { return 0 }
            return fetch.nonce
        }

        mutating func receive(_ reply: ReplicationReply, epoch: Epoch = epoch) {
            receive(
                FrameStamp(channel: stamp.channel, clusterHash: stamp.clusterHash, epoch: epoch).frame(
                    .replicationReply(reply)))
        }

        mutating func receive(_ frame: [UInt8]) {
            wanted = []
            withBytes(of: frame) { span in
                guard let (header, message) = try? Message.decode(span, rule: .any),
                    let reply = ReplicationReply(message)
                else { preconditionFailure("a reply") }
                machine.received(reply, span, epoch: header.epoch, now: now, into: &wanted)
            }
            machine.checkInvariants()
        }

        mutating func plan(_ decision: FetchDecision, _ nonce: UInt64, boot: BootID = primary.boot) {
            receive(.plan(FetchPlan(nonce: nonce, boot: boot, commit: .zero, decision: decision)))
        }

        mutating func append(_ batches: [SealedBatch], _ nonce: UInt64, commit: UInt64 = 0) {
            receive(stamp.appendFrame(nonce: nonce, commit: SequenceNumber(rawValue: commit), batches: batches))
        }
    }

    /// The first batches of the primary's epoch, one entry each.
    static func batches(_ count: Int) -> [SealedBatch] {
        var batches: [SealedBatch] = []
        var position = Position.start(of: PrimaryHarness.store)
        for index in 0..<count {
            var builder = BatchBuilder(
                store: PrimaryHarness.store, epoch: epoch, after: position, time: PrimaryHarness.begin, fullBytes: 4_096
            )
            let entry: Entry =
                index == 0
                ? .epochOpen(node: "p1", incarnation: primary.member.incarnation, boot: primary.boot)
                : .digestMark(Digest(rawValue: UInt128(index)))
            withBytes(of: []) { _ = builder.append(entry, source: $0) }
            let batch = builder.sealed()
            batches.append(batch)
            position = batch.position
        }
        return batches
    }
}

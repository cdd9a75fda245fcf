import Counters
import Lockstep
import LockstepCore

/// A replica's part: full batches, each hashed and applied to the log and to the state.
///
/// The log begins anew each round and the state goes on, which the chain does not notice.
enum ApplyCases {
    private static let batches = 16

    static let all: [Case] = [
        applying("apply/short-names", .short),
        applying("apply/long-names", .long),
        applying("apply/short-names-read", .short, isRead: true),
        stream,
    ]

    /// With a reader the state is shown once in a round.
    private static func applying(_ name: String, _ names: Workload.Names, isRead: Bool = false) -> Case {
        Case(name, unit: "entry", baseline: .dictionary(names)) { meter in
            let source = try FullBatches(batches, of: try OnePrimary(names), names)
            let state = try Workload.reactorState(names)
            let bytes = source.batches.map(\.bytes)
            while meter.goesOn {
                try meter.measure(source.entryCount) {
                    var log = source.start
                    if isRead { state.show(at: log.position.sequence) }
                    for batch in bytes { _ = try log.apply(try SealedBatch(bytes: batch), to: state) }
                    keep(log.position)
                }
            }
        }
    }

    /// The replica's machine follows the broadcast of a primary: 16 SUBMITs of 256 actions a turn, every 10 ms.
    private static var stream: Case {
        let chunks = 16
        return Case(
            "apply/stream", unit: "entry", rounds: 60,
            baseline: .dictionary()
        ) { meter in
            let primary = try OnePrimary(keepingOutput: true)
            var session = try OneSession(with: primary)
            let replica = try OneReplica(of: primary)
            var picks = Workload.Picks()
            while meter.goesOn {
                session.acknowledgeAll()
                for _ in 0..<chunks {
                    let actions = try picks.increments()
                    primary.receive(
                        session.submit(actions, count: Workload.chunkActions), from: OneSession.connection)
                }
                primary.advance(milliseconds: 10)
                primary.endTurn()
                let frames = primary.takePublished()
                _ = (primary.takeSent(), primary.takeBatches())
                meter.measure(chunks * Workload.chunkActions) { replica.receive(frames) }
                precondition(
                    replica.machine.log.position == primary.machine.committed.position, "the replica follows")
            }
        }
    }
}

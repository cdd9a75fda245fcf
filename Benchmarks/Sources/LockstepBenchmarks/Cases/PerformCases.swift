import Counters
import Lockstep
import LockstepCore

/// The reactor's part on the primary: an action is decoded, `mutate` and `reduce` run, mutation and reply are written.
///
/// No session, no frame, no hash; a batch that is full is let go and the next one opened.
enum PerformCases {
    private static let chunks = 64

    static let all: [Case] = [
        performing("perform/short-names", .short),
        performing("perform/long-names", .long),
        performing("perform/short-names-read", .short, isRead: true),
    ]

    /// With a reader the state is shown once in a round, so each path of the tree is copied by the next write to it.
    private static func performing(_ name: String, _ names: Workload.Names, isRead: Bool = false) -> Case {
        Case(name, unit: "action", baseline: .dictionary(names)) { meter in
            let state = try Workload.reactorState(names)
            var picks = Workload.Picks(names)
            let actions = try (0..<chunks).map { _ in try picks.increments() }
            let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))
            var batch = opened(after: .start(of: Workload.store))
            while meter.goesOn {
                meter.measure(chunks * Workload.chunkActions) {
                    if isRead { state.show(at: batch.nextSequence) }
                    for chunk in actions { perform(chunk, on: state, session: session, into: &batch) }
                }
            }
        }
    }

    private static func opened(after position: Position) -> BatchBuilder {
        BatchBuilder(
            store: Workload.store, epoch: Epoch(rawValue: 1), after: position, time: Workload.beginning)
    }

    private static func perform(
        _ chunk: [UInt8], on state: ReactorState<Counters>, session: SessionID, into batch: inout BatchBuilder
    ) {
        withBytes(of: chunk) { bytes in
            var reader = ByteReader(bytes)
            var left = Workload.chunkActions
            while left > 0 {
                batch.beginSeries(session: session, first: 1, ackedThrough: 0)
                left -= state.perform(
                    bytes, &reader, count: left,
                    context: PerformContext(
                        session: session, firstNumber: 1, epoch: Epoch(rawValue: 1),
                        firstSequence: batch.nextSequence, time: Workload.beginning),
                    into: &batch)
                _ = batch.endSeries()
                guard batch.isFull else { continue }
                batch = opened(
                    after: Position(epoch: Epoch(rawValue: 1), sequence: batch.head.last, hash: .none))
            }
        }
    }
}

import Counters
import Lockstep
import LockstepCore

/// The primary's machine: SUBMIT frames in; batches, broadcasts and RESULT frames out.
///
/// All that the primary does for an action but for sockets, threads and the disk: the frame's checksum, the session,
/// `mutate` and `reduce`, the batch and its hash, kept replies and answers. The journal has written at once.
enum SequenceCases {
    private static let chunks = 16

    static let all: [Case] = [
        sequencing("sequence/short-names", .short),
        sequencing("sequence/long-names", .long),
        sequencing("sequence/short-names-read", .short, isRead: true),
        single,
        sealing,
    ]

    /// A turn of 16 frames of 256 actions every 10 ms; the owner acknowledges with each what the last turn answered.
    private static func sequencing(_ name: String, _ names: Workload.Names, isRead: Bool = false) -> Case {
        Case(
            name, unit: "action", rounds: 60, baseline: .dictionary(names)
        ) { meter in
            let primary = try OnePrimary(names)
            var session = try OneSession(with: primary)
            var picks = Workload.Picks(names)
            while meter.goesOn {
                session.acknowledgeAll()
                let frames = try (0..<chunks).map { _ in
                    session.submit(try picks.increments(), count: Workload.chunkActions)
                }
                primary.advance(milliseconds: 10)
                if isRead { _ = primary.state.published.current() }
                meter.measure(chunks * Workload.chunkActions) {
                    for frame in frames { primary.receive(frame, from: OneSession.connection) }
                    primary.endTurn()
                }
            }
        }
    }

    /// One client with one action in flight: a turn, a batch, a view and an answer for each.
    private static var single: Case {
        Case("sequence/one-in-flight", unit: "action", rounds: 40, baseline: .dictionary()) { meter in
            let primary = try OnePrimary()
            var session = try OneSession(with: primary)
            var picks = Workload.Picks()
            while meter.goesOn {
                let frames = try (0..<256).map { _ in
                    session.acknowledgeAll()
                    return session.submit(try picks.increments(1), count: 1)
                }
                meter.measure(256) {
                    for frame in frames {
                        primary.advance(milliseconds: 1)
                        primary.receive(frame, from: OneSession.connection)
                        primary.endTurn()
                    }
                }
            }
        }
    }

    /// A full batch is hashed and becomes a broadcast frame with its checksum.
    private static var sealing: Case {
        Case(
            "sequence/seal", unit: "batch", rounds: 100,
            baseline: .sha256(Limits.batchFullBytes, operations: 1)
        ) { meter in
            let primary = try OnePrimary(keepingOutput: true)
            let bytes = try FullBatches(1, of: primary).batches[0].bytes
            while meter.goesOn {
                try meter.measure(1) {
                    let sealed = try SealedBatch(bytes: bytes)
                    keep(primary.stamp.frame(broadcasting: sealed))
                }
            }
        }
    }
}

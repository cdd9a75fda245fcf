import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepNode

/// A snapshot of 100,000 counters: taken on the node's thread, encoded and hashed beside it, decoded where it is fetched.
enum SnapshotCases {
    private static let keys = Workload.counterCount
    /// About what a key and its value take.
    private static let keyBytes = 17

    static let all: [Case] = [capture, encoding, hashing, decoding]

    private static func log() throws -> LogState {
        try FullBatches(1, of: try OnePrimary()).start
    }

    /// What the node's thread does; later writes pay for it, as the cases with a reader show.
    private static var capture: Case {
        Case("snapshot/capture", unit: "snapshot") { meter in
            let state = try Workload.reactorState()
            let log = try log()
            while meter.goesOn {
                meter.measure(64) {
                    for _ in 0..<64 {
                        keep(state.image())
                        keep(log)
                    }
                }
            }
        }
    }

    private static var encoding: Case {
        Case("snapshot/encode", unit: "key", baseline: .copy(keyBytes)) { meter in
            let image = try Workload.reactorState().image()
            let log = try log()
            while meter.goesOn {
                try meter.measure(keys) {
                    keep(SnapshotContent(log: log, digest: .zero, state: try image.encoded()).encoded())
                }
            }
        }
    }

    private static var hashing: Case {
        Case(
            "snapshot/hash", unit: "key",
            baseline: .sha256(keys * keyBytes, operations: keys)
        ) { meter in
            let log = try log()
            let state = try Workload.reactorState().image().encoded()
            let bytes = SnapshotContent(log: log, digest: .zero, state: state).encoded()
            while meter.goesOn {
                meter.measure(keys) { keep(EncodedSnapshot(number: 1, bytes: bytes, log: log, digest: .zero)) }
            }
        }
    }

    private static var decoding: Case {
        let baseline = Baseline("Dictionary") { meter in
            let names = Workload.Names.short.all
            while meter.goesOn {
                meter.measure(keys) {
                    var counters: [String: Int64] = [:]
                    for name in names { counters[name] = 1_000 }
                    keep(counters)
                }
            }
        }
        return Case("snapshot/decode", unit: "key", baseline: baseline) { meter in
            let state = try Workload.reactorState()
            let content = SnapshotContent(log: try log(), digest: .zero, state: try state.image().encoded())
            let bytes = content.encoded()
            while meter.goesOn {
                try meter.measure(keys) { keep(try state.prepare(try SnapshotContent(bytes).state).digest) }
            }
        }
    }
}

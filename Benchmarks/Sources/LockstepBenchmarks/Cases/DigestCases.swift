import Counters
import Lockstep
import LockstepCore

/// A write to a `ReplicatedMap` with the digest that it keeps, the parts of that, and what a mark costs.
enum DigestCases {
    private static let count = 16_384

    static let all: [Case] = [
        writing("digest/write-short-names", .short),
        writing("digest/write-long-names", .long),
        writing("digest/write-short-names-read", .short, isRead: true),
        ofName,
        mark,
    ]

    private static func writing(_ name: String, _ names: Workload.Names, isRead: Bool = false) -> Case {
        Case(name, unit: "write", baseline: .dictionary(names)) { meter in
            var map = Workload.counters(names).values
            var picks = Workload.Picks(names)
            let keys = picks.next(count)
            while meter.goesOn {
                let shown = isRead ? map : [:]
                meter.measure(count) {
                    for key in keys { map.updateValue(forKey: key, default: 0) { $0 &+= 1 } }
                }
                keep(shown)
            }
        }
    }

    /// The digest of a counter's name alone.
    private static var ofName: Case {
        Case("digest/name", unit: "name", baseline: hashing) { meter in
            var picks = Workload.Picks()
            let names = picks.next(count)
            while meter.goesOn {
                meter.measure(count) {
                    var sum = Digest.zero
                    for name in names { sum = sum + name.keyDigest }
                    keep(sum)
                }
            }
        }
    }

    private static let hashing = Baseline("hashValue") { meter in
        var picks = Workload.Picks()
        let names = picks.next(count)
        while meter.goesOn {
            meter.measure(count) {
                var sum = 0
                for name in names { sum &+= name.hashValue }
                keep(sum)
            }
        }
    }

    /// The digest of the whole state and of the log's tables, with 64 sessions.
    private static var mark: Case {
        Case("digest/mark", unit: "mark") { meter in
            let state = try Workload.reactorState()
            let sessions = SessionCases.table(sessions: 64)
            while meter.goesOn {
                meter.measure(64) {
                    for _ in 0..<64 { keep(state.digest + sessions.digest) }
                }
            }
        }
    }
}

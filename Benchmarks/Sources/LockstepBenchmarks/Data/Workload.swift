import Counters
import Lockstep
import LockstepCore

/// The data of the cases, the same in every run: 100,000 counters, and chunks of 256 increments of them.
enum Workload {
    static let counterCount = 100_000
    static let chunkActions = 256
    static let cluster = ClusterID(rawValue: 0xC0FFEE << 64 | 7)
    static let storeName = "counters"
    static let store = StoreID(cluster: cluster, name: storeName)
    static let channel = Channel(rawValue: 3)
    static let beginning = LogTime(rawValue: 1_800_000_000_000_000)

    /// How the counters are called.
    enum Names: Sendable {
        /// 9 to 13 bytes: the standard library keeps a text of up to 15 in place, without an allocation.
        case short
        /// 24 bytes: each decoded name is an object of its own.
        case long

        var all: [String] { self == .short ? Workload.shortNames : Workload.longNames }
    }

    private static let shortNames = (0..<counterCount).map { "counter:\($0)" }
    private static let longNames = (0..<counterCount).map { index in
        let digits = String(index)
        return "counter:of:a:page:" + String(repeating: "0", count: 6 - digits.count) + digits
    }

    /// Names by chance, in the same order in every run.
    struct Picks {
        private let names: [String]
        private var generator: SplitMix64

        init(_ kind: Names = .short, seed: UInt64 = 1) {
            names = kind.all
            generator = SplitMix64(seed: seed)
        }

        mutating func next() -> String { names[Int(generator.next(below: UInt64(names.count)))] }

        mutating func next(_ count: Int) -> [String] { (0..<count).map { _ in next() } }

        /// Increments by 1, each preceded by its length, as callers leave them.
        mutating func increments(_ count: Int = chunkActions) throws -> [UInt8] {
            var writer = ByteWriter(capacity: 24 * count)
            for _ in 0..<count {
                let action = Counters.Action.add(next(), by: 1)
                try writer.writeMeasured { try Counters.actionCoding.encode(action, &$0) }
            }
            return writer.bytes
        }
    }

    /// A state that has all counters, each at 1,000.
    static func counters(_ names: Names = .short) -> Counters.State {
        var state = Counters.State()
        for name in names.all { state.values[name] = 1_000 }
        return state
    }

    /// The same as a node has it; nobody reads it.
    static func reactorState(_ names: Names = .short) throws -> ReactorState<Counters> {
        let initial = Snapshot(state: Counters.State(), place: .start, time: .zero)
        let state = ReactorState(Counters(), published: PublishedState(initial))
        state.install(try state.prepare(try Counters.stateCoding.encoded(counters(names))))
        return state
    }
}

extension ReactorState {
    /// Shows the working state, as a node does for its readers: the next write of each path copies it.
    func show(at sequence: SequenceNumber) {
        capture(at: sequence, epoch: Epoch(rawValue: 1), time: .zero)
        publish(through: sequence)
    }
}

import CAllocations

/// What a case is measured with: the case names the part of each round that counts.
///
/// Rounds and their operations are counted, not timed, so the allocations are the same in every run. The first rounds
/// are left out: in them tables and buffers grow to the size that they keep.
struct Meter {
    /// Whose time and whose allocations count.
    enum Scope: Sendable {
        /// The measuring thread's, and its time on a processor: other processes on the machine do not count.
        case thread
        /// All threads', and the time on the wall: for work that another thread does.
        case process
    }

    /// What the rounds that count have in sum.
    struct Reading: Sendable {
        /// Nanoseconds an operation, of each round.
        var nanoseconds: [Double] = []
        var operations = 0
        var allocations = 0
        var bytes = 0
    }

    static let warmUpRounds = 4

    private let rounds: Int
    private let scope: Scope
    /// One object more is allocated for each operation: what the check must find.
    private let hasPlantedDefect: Bool
    private(set) var reading = Reading()
    private var left: Int

    init(rounds: Int, scope: Scope, hasPlantedDefect: Bool = false) {
        self.rounds = rounds
        self.scope = scope
        self.hasPlantedDefect = hasPlantedDefect
        left = rounds + Self.warmUpRounds
        reading.nanoseconds.reserveCapacity(rounds)
    }

    /// Whether another round is to be run.
    var goesOn: Bool { left > 0 }

    /// Runs and measures one round of some operations; what a case does outside of this does not count.
    mutating func measure(_ operations: Int, _ round: () throws -> Void) rethrows {
        let before = now
        try round()
        if hasPlantedDefect { Planted.allocate(operations) }
        let after = now
        left -= 1
        guard left < rounds else { return }
        reading.nanoseconds.append(Double(after.nanoseconds - before.nanoseconds) / Double(operations))
        reading.operations += operations
        reading.allocations += Int(after.counts.count - before.counts.count)
        reading.bytes += Int(after.counts.bytes - before.counts.bytes)
    }

    private var now: (nanoseconds: Int64, counts: allocation_counts) {
        switch scope {
        case .thread: (thread_nanoseconds(), allocations_of_thread())
        case .process: (wall_nanoseconds(), allocations_of_all_threads())
        }
    }
}

/// Objects that are allocated for the sake of it.
enum Planted {
    private final class Object {
        var value = 0
    }

    @inline(never)
    static func allocate(_ count: Int) {
        for _ in 0..<count { keep(Object()) }
    }
}

/// Makes sure that a value is computed, although nobody uses it.
@inline(__always)
func keep<Value>(_ value: borrowing Value) { withUnsafePointer(to: value) { keep_pointer($0) } }

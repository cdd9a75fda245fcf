import LockstepCore

/// What the clients of a run do.
package enum ChaosWorkload: String, CaseIterable, Sendable {
    /// Adds 1 to counters, and reads them.
    case increments
    /// Reads, writes, and compares and sets registers.
    case registers
    /// Inserts elements that nobody else inserts.
    case set
    /// Appends to lists, and reads them.
    case appends
    /// Moves amounts between accounts, and reads them all.
    case transfers
    /// Replaces and reads documents of 100 bytes to 200 KiB.
    case documents
    /// Writes at the primary, then reads at one replica after another, none of which may be older than the write.
    case sessions
    /// Searches for words, at one node after another; each word is in one text of the primary's index.
    case searches
    /// Adds 256 at a time.
    case stream
    /// Each worker does another of the first six.
    case mixed

    /// What one worker of it does.
    package func kind(worker: Int) -> ChaosWorkload {
        guard self == .mixed else { return self }
        let all: [ChaosWorkload] = [.increments, .registers, .set, .appends, .transfers, .documents]
        return all[worker % all.count]
    }
}

/// Draws one worker's operations from a seed.
package struct CallGenerator: Sendable {
    private let workload: ChaosWorkload
    private let worker: Int
    private var random: SplitMix64
    private var count: Int64 = 0

    /// After so many operations of a worker, registers and lists give way to new ones: a search for an order stays
    /// short, and so do lists.
    static let operationsOfAKey: Int64 = 150
    /// The words that are searched for are `word0`, `word1` and so on; `wordN` is in the text `textN.txt` alone.
    static let words: UInt64 = 400

    /// Begins at a seed; workers of one run differ by their number.
    package init(_ workload: ChaosWorkload, worker: Int, seed: UInt64) {
        self.workload = workload.kind(worker: worker)
        self.worker = worker
        random = SplitMix64(seed: seed &+ UInt64(worker) &* 0x9E37_79B9)
    }

    /// The next operation.
    package mutating func next() -> ObjectCall {
        count += 1
        // No other worker has this number.
        let unique = Int64(worker) * 1_000_000_000 + count
        let group = count / Self.operationsOfAKey
        switch workload {
        case .increments, .mixed:
            return ObjectCall("counter/\(random.next(below: 50))", chance(80) ? .add(1) : .read)
        case .registers, .sessions:
            let key = "register/\(group)-\(random.next(below: 6))"
            if chance(35) { return ObjectCall(key, .read) }
            if chance(50) { return ObjectCall(key, .write(Int64(random.next(below: 5)))) }
            let expected = chance(20) ? nil : Int64(random.next(below: 5))
            return ObjectCall(key, .compareAndSet(expected: expected, new: Int64(random.next(below: 5))))
        case .set: return ObjectCall("element/\(unique)", .insert(unique))
        case .appends:
            let key = "list/\(group)-\(random.next(below: 8))"
            return ObjectCall(key, chance(70) ? .append(unique) : .read)
        case .transfers:
            if chance(25) { return ObjectCall(ObjectCall.accounts, .read) }
            let accounts = UInt64(Workbench.accounts)
            return ObjectCall(
                ObjectCall.accounts,
                .transfer(
                    from: Int(random.next(below: accounts)), to: Int(random.next(below: accounts)),
                    amount: Int64(random.next(below: 60))))
        case .documents:
            let key = "document/\(random.next(below: 8))"
            return ObjectCall(key, chance(60) ? .replace(seed: unique) : .read)
        case .searches: return ObjectCall("search/\(random.next(below: Self.words))", .read)
        case .stream: return ObjectCall("counter/stream-\(random.next(below: 1_000))", .add(1))
        }
    }

    /// How a read is asked, and of which of so many nodes; the primary is the first.
    package mutating func reading(nodes: Int) -> (node: Int, consistency: String) {
        let node = Int(random.next(below: UInt64(nodes)))
        if workload == .sessions { return (node, "session") }
        if workload == .searches { return (node, "local") }
        return (node, chance(50) ? "linearizable" : "local")
    }

    /// True in so many of a hundred cases.
    package mutating func chance(_ percent: UInt64) -> Bool { random.next(below: 100) < percent }
}

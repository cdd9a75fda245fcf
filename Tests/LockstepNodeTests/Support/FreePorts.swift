import Synchronization

/// Ports that no other test of this process has, below those that systems give away.
enum FreePorts {
    private static let count = 2_200
    /// Where this run begins: another one on the same machine hardly has the same.
    private static let first = Int.random(in: 0..<count)
    private static let given = Atomic(0)

    /// The next one; a node takes it and the three after it.
    static func next() -> Int {
        20_000 + 4 * ((first + given.add(1, ordering: .relaxed).oldValue) % count)
    }
}

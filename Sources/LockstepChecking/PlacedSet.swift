/// The set of operations that a search has placed: bits, with a hash that is kept up to date.
///
/// Operations are numbered in the order of their invocations, so nearly all placed ones stand at the beginning. A
/// ``Key`` holds only the words after the full ones, two in a usual history, whatever its length.
struct PlacedSet {
    private var words: [UInt64]
    /// The first word that is not full, and a word after which all are empty.
    private var first = 0
    private var last = 0
    private(set) var hash: UInt64 = 0

    /// What two equal sets have in common.
    struct Key: Hashable {
        private var hash: UInt64
        private var first: Int
        private var low: UInt64
        private var high: UInt64
        /// The words after the first two; mostly empty, and then without memory of its own.
        private var rest: [UInt64]

        fileprivate init(hash: UInt64, first: Int, words: ArraySlice<UInt64>) {
            self.hash = hash
            self.first = first
            low = words.first ?? 0
            high = words.dropFirst().first ?? 0
            rest = words.count > 2 ? Array(words.dropFirst(2)) : []
        }

        func hash(into hasher: inout Hasher) { hasher.combine(hash) }
    }

    init(count: Int) { words = Array(repeating: 0, count: count / 64 + 1) }

    var key: Key {
        first > last
            ? Key(hash: hash, first: first, words: []) : Key(hash: hash, first: first, words: words[first...last])
    }

    func contains(_ index: Int) -> Bool { words[index / 64] & (1 << UInt64(index % 64)) != 0 }

    mutating func insert(_ index: Int) {
        let word = index / 64
        words[word] |= 1 << UInt64(index % 64)
        hash ^= Self.mix(index)
        last = max(last, word)
        while first < words.count - 1, words[first] == .max { first += 1 }
    }

    mutating func remove(_ index: Int) {
        let word = index / 64
        words[word] &= ~(1 << UInt64(index % 64))
        hash ^= Self.mix(index)
        first = min(first, word)
        while last > 0, words[last] == 0 { last -= 1 }
    }

    /// The output function of SplitMix64: a different, well spread number for each index.
    private static func mix(_ index: Int) -> UInt64 {
        var z = UInt64(index + 1) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

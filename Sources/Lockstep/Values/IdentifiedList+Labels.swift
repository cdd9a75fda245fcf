// The order of an `IdentifiedList` is kept by labels, numbers with gaps: a new element gets one between those of its
// neighbours. Where there is none left, the labels around are spread anew, over the smallest range of labels that is
// not too full (Bender, Cole, Demaine, Farach-Colton and Zito, "Two simplified algorithms for maintaining order in a
// list"), which costs O(log n) labels for each insertion in the mean, wherever the insertions are.

extension IdentifiedList {
    /// Labels are below 2^62, so that sums of two do not overflow.
    @inlinable
    static var labelBits: Int { 62 }
    @inlinable
    static var labelEnd: UInt64 { 1 << UInt64(labelBits) }
    /// Labels that are spread get at least this distance, if there is room, so that many insertions can follow.
    @inlinable
    static var leastSpacing: UInt64 { 1 << 10 }
    /// How far a new last element is from the one before it, if there is room.
    @inlinable
    static var usualGap: UInt64 { 1 << 32 }

    /// A label for a new element that is to have `index` elements before it; makes room if there is none.
    @inlinable
    mutating func freeLabel(at index: Int) -> UInt64 {
        if let label = gap(at: index) { return label }
        // The neighbour's label; there is one, since an empty list has room.
        makeRoom(around: order.element(at: Swift.max(0, index - 1))?.label ?? 0)
        guard let label = gap(at: index) else { preconditionFailure("a list cannot have so many elements") }
        return label
    }

    @inlinable
    func gap(at index: Int) -> UInt64? {
        let before = order.element(at: index - 1)?.label
        let after = order.element(at: index)?.label
        switch (before, after) {
        case (nil, nil): return Self.labelEnd / 2
        case (let before?, nil): return between(before, Swift.min(Self.labelEnd, before + 2 * Self.usualGap))
        case (nil, let after?):
            // The first label is 0, so the range before `after` begins one below it.
            guard after > 0 else { return nil }
            return after - Swift.min(after, Self.usualGap)
        case (let before?, let after?): return between(before, after)
        }
    }

    @inlinable
    func between(_ before: UInt64, _ after: UInt64) -> UInt64? {
        after - before >= 2 ? before + (after - before) / 2 : nil
    }

    /// Spreads the labels in the smallest range around `label`, of a power of two, that is not too full.
    ///
    /// A range of 2^k labels is too full if it has more than (2 / 1.4)^k elements, so that smaller ranges may be fuller
    /// than larger ones and a range that was spread has room for many insertions.
    @inlinable
    mutating func makeRoom(around label: UInt64) {
        // In units of 1/1024, since the numbers of small ranges are small.
        var capacity: UInt64 = 1_024
        for bits in 1...Self.labelBits {
            capacity = capacity / 7 * 10
            let size: UInt64 = 1 << UInt64(bits)
            let start = label & ~(size - 1)
            let first = order.rank(of: Place(label: start, id: nil))
            let count = order.rank(of: Place(label: start + size, id: nil)) - first
            let spacing = size / UInt64(count + 1)
            let isRoomy = UInt64(count) * 1_024 <= capacity && spacing >= Self.leastSpacing
            guard isRoomy || bits == Self.labelBits else { continue }
            spread(first, count, from: start, spacing: spacing)
            return
        }
    }

    @inlinable
    mutating func spread(_ first: Int, _ count: Int, from start: UInt64, spacing: UInt64) {
        var old: [Place] = []
        order.forEach(from: first) { place in
            guard old.count < count else { return false }
            old.append(place)
            return old.count < count
        }
        let new = old.enumerated().map { index, place in
            Place(label: start + spacing * UInt64(index + 1), id: place.id)
        }
        setOrder(new, removing: old)
    }
}

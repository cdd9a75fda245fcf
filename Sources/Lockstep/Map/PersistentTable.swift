/// A hash table of which a copy costs constant time: what is written after a copy takes copies of the parts it changes.
///
/// It grows by linear hashing (W. Litwin, 1980): there are n shards, and the shard of a hash is its lowest k bits, or
/// k - 1 where that number is not below n. When the shards are full on average, one is split into itself and a new
/// last one, so no write pays for more than one shard of about 450 pairs. A shard is a table of its own: `slots` finds
/// a key's position by linear probing, and keys and values lie in the order of their positions, without gaps. Keys are
/// apart from values, so that a change of a value copies no keys.
///
/// A look-up follows the shard's record, a slot, and the key and the value beside each other in time: about what a
/// `Dictionary` costs at 100,000 pairs, and half of a tree. A write after a copy copies one block of values: about
/// 3 KiB for integers. A copy that is kept costs the next write 64 bytes for each shard besides.
///
/// The caller brings the hash of each key. The order of the pairs follows their history, and means nothing.
@usableFromInline
struct PersistentTable<Key: Equatable, Value> {
    @usableFromInline var shards: ContiguousArray<Shard> = []
    @usableFromInline var count = 0
    /// The lowest bits of a hash that number the shards.
    @usableFromInline var mask = 0

    /// A part of the table; 64 bytes, which is a line of the cache.
    @usableFromInline
    struct Shard {
        /// Zero, or eight bits of the hash above a position plus one.
        @usableFromInline var slots: Block<UInt32>
        @usableFromInline var keys: Block<Key>
        @usableFromInline var values: Block<Value>
        /// The number of slots, a power of two, less one.
        @usableFromInline var mask: Int
        @usableFromInline var count = 0

        /// Makes an empty shard with room for `count` pairs.
        @inlinable
        init(room count: Int) {
            var capacity = 8
            while Self.limit(capacity) < count { capacity *= 2 }
            slots = Block(repeating: 0, count: capacity)
            keys = Block(capacity: count)
            values = Block(capacity: count)
            mask = capacity - 1
        }

        /// How many pairs so many slots take.
        @inlinable static func limit(_ slots: Int) -> Int { slots - slots / 8 }
        @inlinable var isFull: Bool { count >= Self.limit(mask + 1) }
        @inlinable func start(_ hash: UInt64) -> Int { Int(truncatingIfNeeded: hash >> 32) & mask }
        @inlinable static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 56) }
    }

    /// Where a pair lies until the next pair is put in or taken out.
    @usableFromInline
    struct Place {
        @usableFromInline var shard: Int
        @usableFromInline var position: Int
        @inlinable
        init(shard: Int, position: Int) {
            self.shard = shard
            self.position = position
        }
    }

    /// Pairs a shard has on average before another one is made.
    @inlinable static var pairsPerShard: Int { 448 }

    @inlinable init() {}

    /// Makes an empty table with the shards of `pairs`, so that putting them in splits and widens none.
    @inlinable
    init(room pairs: Int) {
        let number = (pairs + Self.pairsPerShard - 1) / Self.pairsPerShard
        while mask + 1 < number { mask = mask << 1 | 1 }
        shards.reserveCapacity(number)
        for shard in 0..<number {
            // One that is still to be split takes as much as its two halves.
            let isSplit = shard > mask >> 1 || shard | (mask ^ mask >> 1) < number
            let share = pairs / (isSplit ? mask + 1 : (mask + 1) / 2)
            shards.append(Shard(room: share + share / 8))
        }
    }

    // MARK: - Looking up

    @inlinable @inline(__always)
    func shard(of hash: UInt64) -> Int {
        let number = Int(truncatingIfNeeded: hash) & mask
        return number < shards.count ? number : number & (mask >> 1)
    }

    /// Where the pair of `key` lies, if there is one.
    @inlinable @inline(__always)
    func place(of key: Key, _ hash: UInt64) -> Place? {
        guard count > 0 else { return nil }
        let shard = shard(of: hash)
        let slots = shards[shard].slots.elements
        let keys = shards[shard].keys.elements
        let mask = shards[shard].mask
        let tag = Shard.tag(hash)
        var index = shards[shard].start(hash)
        // The pointers are followed while the table, which owns what they point to, is alive.
        defer { withExtendedLifetime(self) {} }
        // An empty slot ends the search; a shard always has one.
        while true {
            let slot = slots[index]
            if slot == 0 { return nil }
            if slot >> 24 == tag {
                let position = Int(slot & 0xFF_FFFF) &- 1
                if keys[position] == key { return Place(shard: shard, position: position) }
            }
            index = (index &+ 1) & mask
        }
    }

    /// The value of a pair; changing it is a write.
    @inlinable
    subscript(place: Place) -> Value {
        @inline(__always) _read {
            defer { withExtendedLifetime(self) {} }
            yield shards[place.shard].values.elements[place.position]
        }
        @inline(__always) _modify {
            shards[place.shard].values.own()
            defer { withExtendedLifetime(self) {} }
            yield &shards[place.shard].values.elements[place.position]
        }
    }

    // MARK: - Putting in and taking out

    /// Puts in a pair whose key is not there; `rehash` gives the hash of any key.
    @inlinable
    mutating func insert(_ key: Key, _ value: Value, _ hash: UInt64, rehash: (Key) -> UInt64) -> Place {
        if shards.isEmpty {
            shards.append(Shard(room: 4))
        } else if count >= shards.count * Self.pairsPerShard {
            split(rehash: rehash)
        }
        count += 1
        let shard = shard(of: hash)
        add(key, value, hash, to: shard, rehash: rehash)
        return Place(shard: shard, position: shards[shard].count - 1)
    }

    /// Takes a pair out: the last one of its shard takes its position.
    @inlinable
    mutating func remove(at place: Place, _ hash: UInt64, rehash: (Key) -> UInt64) -> Value {
        let number = place.shard
        shards[number].slots.own()
        shards[number].keys.own()
        shards[number].values.own()
        let (slots, mask) = (shards[number].slots.elements, shards[number].mask)
        let keys = shards[number].keys.elements
        let last = shards[number].count - 1
        var hole = slot(of: place.position, hash, in: number)
        if place.position != last {
            let moved = slot(of: last, rehash(keys[last]), in: number)
            slots[moved] = slots[moved] & 0xFF00_0000 | UInt32(place.position + 1)
            swap(&keys[place.position], &keys[last])
            let values = shards[number].values.elements
            swap(&values[place.position], &values[last])
        }
        // Whoever was put after the hole because it was taken moves up, so that a search may end at an empty slot.
        var index = (hole + 1) & mask
        while slots[index] != 0 {
            let home = shards[number].start(rehash(keys[Int(slots[index] & 0xFF_FFFF) - 1]))
            if (index - home) & mask >= (index - hole) & mask {
                slots[hole] = slots[index]
                hole = index
            }
            index = (index + 1) & mask
        }
        slots[hole] = 0
        _ = shards[number].keys.removeLast()
        let value = shards[number].values.removeLast()
        shards[number].count -= 1
        count -= 1
        if count == 0 {
            self = Self()
        } else if shards.count > 1, count < (shards.count - 1) * Self.pairsPerShard / 4 {
            merge(rehash: rehash)
        }
        return value
    }

    /// The slot of a position that is taken.
    @inlinable
    func slot(of position: Int, _ hash: UInt64, in number: Int) -> Int {
        let (slots, mask) = (shards[number].slots.elements, shards[number].mask)
        var index = shards[number].start(hash)
        while Int(slots[index] & 0xFF_FFFF) - 1 != position { index = (index + 1) & mask }
        return index
    }

    @inlinable
    mutating func add(
        _ key: Key, _ value: Value, _ hash: UInt64, to number: Int, rehash: (Key) -> UInt64
    ) {
        if shards[number].isFull { widen(number, rehash: rehash) }
        shards[number].keys.append(key)
        shards[number].values.append(value)
        shards[number].count += 1
        point(to: shards[number].count - 1, hash, in: number)
    }

    @inlinable
    mutating func point(to position: Int, _ hash: UInt64, in number: Int) {
        precondition(position < 0xFF_FFFF, "16 million keys in one shard: their hashes are equal")
        shards[number].slots.own()
        let (slots, mask) = (shards[number].slots.elements, shards[number].mask)
        var index = shards[number].start(hash)
        while slots[index] != 0 { index = (index + 1) & mask }
        slots[index] = Shard.tag(hash) << 24 | UInt32(position + 1)
    }

    /// Twice as many slots for a shard.
    @inlinable
    mutating func widen(_ number: Int, rehash: (Key) -> UInt64) {
        let capacity = (shards[number].mask + 1) * 2
        shards[number].slots = Block(repeating: 0, count: capacity)
        shards[number].mask = capacity - 1
        for position in 0..<shards[number].count {
            point(to: position, rehash(shards[number].keys.elements[position]), in: number)
        }
    }

    /// One more shard: the pairs of another one are shared out between the two.
    @inlinable
    mutating func split(rehash: (Key) -> UInt64) {
        if shards.count > mask { mask = mask << 1 | 1 }
        let number = shards.count & (mask >> 1)
        let old = shards[number]
        shards[number] = Shard(room: old.count / 2 + old.count / 16)
        shards.append(Shard(room: old.count / 2 + old.count / 16))
        addAll(of: old, rehash: rehash)
    }

    /// One shard less: the pairs of the last one go back to where they were split from.
    @inlinable
    mutating func merge(rehash: (Key) -> UInt64) {
        let old = shards.removeLast()
        if shards.count <= mask >> 1 { mask >>= 1 }
        let number = shards.count & (mask >> 1)
        let other = shards[number]
        shards[number] = Shard(room: old.count + other.count)
        addAll(of: other, rehash: rehash)
        addAll(of: old, rehash: rehash)
    }

    @inlinable
    mutating func addAll(of shard: Shard, rehash: (Key) -> UInt64) {
        for position in 0..<shard.count {
            let key = shard.keys.elements[position]
            let hash = rehash(key)
            add(key, shard.values.elements[position], hash, to: self.shard(of: hash), rehash: rehash)
        }
        withExtendedLifetime(shard) {}
    }
}

extension PersistentTable {
    /// Whether the two are copies of one, and neither was written since; constant time.
    @inlinable
    func isIdentical(to other: Self) -> Bool {
        count == other.count
            && shards.withUnsafeBufferPointer { own in
                other.shards.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress }
            }
    }

    /// The pairs of shards that it does not share with another table: whatever differs is among them on either side.
    ///
    /// Of two copies of one table that differ in a few pairs these are some hundreds; no pair is compared.
    func pairs(notSharedWith other: Self) -> [(key: Key, value: Value)] {
        var pairs: [(key: Key, value: Value)] = []
        for (number, shard) in shards.enumerated() {
            // A block is written by its one owner only, so two tables that have the same block have equal pairs in it.
            if number < other.shards.count, shard.keys.owner == other.shards[number].keys.owner,
                shard.values.owner == other.shards[number].values.owner
            {
                continue
            }
            for position in 0..<shard.count {
                pairs.append((shard.keys.elements[position], shard.values.elements[position]))
            }
        }
        withExtendedLifetime((self, other)) {}
        return pairs
    }
}

extension PersistentTable: Sequence {
    /// Goes through all pairs, in an order that means nothing.
    @usableFromInline
    struct Iterator: IteratorProtocol {
        @usableFromInline let table: PersistentTable
        @usableFromInline var shard = 0
        @usableFromInline var position = 0

        @inlinable init(_ table: PersistentTable) { self.table = table }

        @inlinable
        mutating func next() -> (key: Key, value: Value)? {
            while shard < table.shards.count {
                if position < table.shards[shard].count {
                    defer { position += 1 }
                    defer { withExtendedLifetime(table) {} }
                    return (
                        table.shards[shard].keys.elements[position], table.shards[shard].values.elements[position]
                    )
                }
                shard += 1
                position = 0
            }
            return nil
        }
    }

    @inlinable
    func makeIterator() -> Iterator { Iterator(self) }

    @inlinable var underestimatedCount: Int { count }
}

extension PersistentTable: Sendable where Key: Sendable, Value: Sendable {}
extension PersistentTable.Shard: Sendable where Key: Sendable, Value: Sendable {}

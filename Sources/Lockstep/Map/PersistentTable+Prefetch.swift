public import CLockstep

// A look-up waits for memory twice: for a slot, then for the key and the value; a write also for the count of references
// to the values. Of many look-ups that are known before, the first waits are over together when the last was asked for,
// and then the second ones.

extension PersistentTable {
    /// Asks for the slot at which the search for a hash begins, and for what a write looks at; the table is not empty.
    @inlinable @inline(__always)
    func prefetchSlot(_ hash: UInt64) {
        let shard = shard(of: hash)
        clockstep_prefetch(shards[shard].slots.elements + shards[shard].start(hash))
        clockstep_prefetch(shards[shard].values.owner)
        withExtendedLifetime(self) {}
    }

    /// Asks for the key and the value that a hash probably belongs to; the table is not empty.
    @inlinable @inline(__always)
    func prefetchPair(_ hash: UInt64) {
        let shard = shard(of: hash)
        let slots = shards[shard].slots.elements
        let mask = shards[shard].mask
        let tag = Shard.tag(hash)
        defer { withExtendedLifetime(self) {} }
        var index = shards[shard].start(hash)
        while slots[index] != 0 {
            if slots[index] >> 24 == tag {
                let position = Int(slots[index] & 0xFF_FFFF) &- 1
                clockstep_prefetch(shards[shard].keys.elements + position)
                clockstep_prefetch(shards[shard].values.elements + position)
                return
            }
            index = (index &+ 1) & mask
        }
    }
}

extension ReplicatedMap {
    /// Asks the processor for the memory in which these keys and their values lie, so that looking them up soon does
    /// not wait for it: see ``ReactorOptions/prefetch(actions:in:)``.
    ///
    /// About 30 ns a key, and nothing else happens. It pays for many keys of a map that is larger than the
    /// processor's caches; only the first 64 are looked at.
    @inlinable
    public func prefetch(_ keys: some Sequence<Key>) {
        guard count > 0 else { return }
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 64) { hashes in
            var found = 0
            for key in keys {
                if found == hashes.count { break }
                let hash = key.tableHash
                table.prefetchSlot(hash)
                hashes.initializeElement(at: found, to: hash)
                found += 1
            }
            for index in 0..<found { table.prefetchPair(hashes[index]) }
        }
    }
}

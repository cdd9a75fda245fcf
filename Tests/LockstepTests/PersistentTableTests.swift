import Lockstep
import LockstepCore
import Synchronization
import Testing

/// What the table below a ``ReplicatedMap`` does as it grows, shrinks, and is copied.
@Suite struct PersistentTableTests {
    /// A key whose hashes are as bad as its type's parameter says.
    struct Key: ReplicatedKey, Codable {
        var number: Int
        var hashes: Int

        func hash(into hasher: inout Hasher) { hasher.combine(number % hashes) }
        static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// Grows over many splits, shrinks over many merges, and grows again; good hashes, few hashes, one hash.
    @Test(arguments: [(Int.max, 12_000), (40, 2_500), (1, 500)])
    func itGrowsAndShrinks(hashes: Int, count: Int) {
        var random = SplitMix64(seed: 7)
        var map: ReplicatedMap<Key, Int> = [:]
        var model: [Int: Int] = [:]
        for (target, isGrowing) in [(count, true), (count / 50, false), (count / 2, true), (0, false)] {
            while isGrowing ? model.count < target : model.count > target {
                // Two steps forward, one back.
                let isPut = random.next(below: 3) > 0 ? isGrowing : !isGrowing
                let number = random.number(below: 2 * count)
                let key = Key(number: number, hashes: hashes)
                if isPut {
                    #expect(map.updateValue(number, forKey: key) == model.updateValue(number, forKey: number))
                } else {
                    let number = model.first?.key ?? number
                    let key = Key(number: number, hashes: hashes)
                    #expect(map.removeValue(forKey: key) == model.removeValue(forKey: number))
                }
            }
            #expect(map.count == model.count)
            #expect((0..<2 * count).allSatisfy { map[Key(number: $0, hashes: hashes)] == model[$0] })
            #expect(map.sorted().map(\.key.number) == model.keys.sorted())
        }
        #expect(map.digest == .zero)
    }

    /// A map that was decoded, whose shards were made at once, is as one that grew, and grows and shrinks on.
    @Test(arguments: [0, 1, 3, 448, 449, 896, 897, 1_344, 1_345, 3_000])
    func aDecodedMapGrowsAndShrinks(count: Int) throws {
        var map: ReplicatedMap<String, Int64> = [:]
        for number in 0..<count { map["key \(number)"] = Int64(number) }
        var writer = ByteWriter()
        map.encode(into: &writer)
        var decoded = try withBytes(of: writer.bytes) { (bytes) throws(WireError) in
            var reader = ByteReader(bytes)
            return try ReplicatedMap<String, Int64>(from: bytes, &reader)
        }
        #expect(decoded == map)
        for number in count..<3 * count + 10 {
            decoded["key \(number)"] = Int64(number)
            map["key \(number)"] = Int64(number)
        }
        #expect(decoded == map)
        for number in 0..<3 * count { decoded["key \(number)"] = nil }
        let rest = 3 * count..<3 * count + 10
        #expect(decoded.count == rest.count && rest.allSatisfy { decoded["key \($0)"] == Int64($0) })
        for number in rest { decoded["key \(number)"] = nil }
        #expect(decoded.isEmpty && decoded.digest == .zero)
    }

    /// A copy is never changed by what is written afterwards, whichever of the two writes.
    @Test func copiesStayAsTheyWere() {
        var random = SplitMix64(seed: 3)
        var copies: [(map: ReplicatedMap<String, [Int]>, model: [String: [Int]])] = [([:], [:])]
        for _ in 0..<20_000 {
            let index = random.number(below: copies.count)
            let key = "key \(random.next(below: 1_500))"
            switch random.next(below: 400) {
            case 0:
                if copies.count < 12 { copies.append(copies[index]) } else { copies.remove(at: index) }
            case 1..<100:
                copies[index].map[key] = nil
                copies[index].model[key] = nil
            default:
                let number = random.number(below: 1_000)
                copies[index].map[key, default: []].append(number)
                copies[index].model[key, default: []].append(number)
            }
        }
        for (map, model) in copies {
            #expect(map.count == model.count && model.allSatisfy { map[$0.key] == $0.value })
            let anew = ReplicatedMap(model.map { ($0.key, $0.value) })
            #expect(map == anew && map.digest == anew.digest)
        }
    }

    /// Readers of a copy on other threads, while the map is written.
    @Test func copiesAreReadBesideWrites() async {
        var map = ReplicatedMap((0..<3_000).map { ("k\($0)", 0) })
        await withTaskGroup(of: Bool.self) { group in
            for round in 1...200 {
                let copy = map
                group.addTask {
                    (0..<3_000).allSatisfy { copy["k\($0)"] == round - 1 }
                        && copy.total { Int64($1) } == 3_000 * (round - 1)
                }
                for number in 0..<3_000 { map["k\(number)", default: 7] += 1 }
                if round.isMultiple(of: 8) { for _ in 0..<8 { #expect(await group.next() == true) } }
            }
        }
    }

    /// What was put in is let go of: keys and values that were replaced, removed, moved, or belong to a copy.
    @Test func nothingIsKeptThatWasTakenOut() {
        final class Counted: Sendable, Digestible {
            static let alive = Counter()
            var contentDigest: Digest { .zero }
            init() { Self.alive.add(1) }
            deinit { Self.alive.add(-1) }
        }
        do {
            var map: ReplicatedMap<Int, Counted> = [:]
            for number in 0..<4_000 { map[number % 2_500] = Counted() }
            var copy = map
            for number in 0..<2_400 { map[number] = nil }
            #expect(Counted.alive.value == 2_500)
            copy = map
            #expect(Counted.alive.value == 100 && copy.count == 100)
        }
        #expect(Counted.alive.value == 0)
    }
}

/// A number that several threads add to.
private final class Counter: Sendable {
    private let number = Mutex(0)
    var value: Int { number.withLock { $0 } }
    func add(_ amount: Int) { number.withLock { $0 += amount } }
}

extension SplitMix64 {
    fileprivate mutating func number(below bound: Int) -> Int { Int(next(below: UInt64(bound))) }
}

import Foundation
import Lockstep
import LockstepCore
import Testing

@Suite struct ReplicatedMapTests {
    /// The order of the table is another in each process and must not be seen, not even with values that have none.
    @Test func theGreatestAreTheSameWhateverTheOrderOfTheTable() {
        let values: [Double] = [5, .nan, 7, 1, -.nan, 7, .infinity, .nan, 2]
        var random = SplitMix64(seed: 1)
        for _ in 0..<200 {
            var order = Array(values.enumerated())
            for index in order.indices.reversed() { order.swapAt(index, Int(random.next(below: UInt64(index + 1)))) }
            // A hash table of few pairs has them in the order in which they came.
            var map: ReplicatedMap<String, Double> = [:]
            for (index, value) in order { map["k\(index)"] = value }
            #expect(map.greatest(5).map(\.key) == ["k6", "k2", "k5", "k0", "k8"])
            #expect(map.greatest(9).map(\.key).suffix(4) == ["k3", "k1", "k4", "k7"])
        }
    }

    /// Random writes of every kind against a `Dictionary`; the digest after them is the one of a map made anew.
    @Test(arguments: 1...8) func itBehavesLikeADictionary(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var map: ReplicatedMap<String, Int64> = [:]
        var model: [String: Int64] = [:]
        var kept: [(map: ReplicatedMap<String, Int64>, model: [String: Int64])] = []
        for step in 0..<2_000 {
            let key = "k\(random.next(below: 80))"
            let value = Int64(bitPattern: random.next())
            switch random.next(below: 9) {
            case 0: #expect(map.updateValue(value, forKey: key) == model.updateValue(value, forKey: key))
            case 1: #expect(map.removeValue(forKey: key) == model.removeValue(forKey: key))
            case 2: (map[key], model[key]) = (value, value)
            case 3: (map[key], model[key]) = (nil, nil)
            case 4:
                map[key, default: 3] &+= value
                model[key, default: 3] &+= value
            case 5:
                map[key]? &+= value
                model[key]? &+= value
            case 6:
                map.updateValue(forKey: key, default: 3) { $0 &+= value }
                model[key, default: 3] &+= value
            case 7: #expect(map[key] == model[key] && map[key, default: 7] == model[key, default: 7])
            default: if step.isMultiple(of: 50) { kept.append((map, model)) }
            }
        }
        kept.append((map, model))
        for (map, model) in kept {
            let anew = ReplicatedMap(model.map { ($0.key, $0.value) })
            #expect(map.count == model.count && map.isEmpty == model.isEmpty)
            #expect(map.digest == anew.digest && map == anew)
            #expect(map.sorted().map(\.key) == model.keys.sorted())
            #expect(map.sorted().allSatisfy { model[$0.key] == $0.value })
        }
    }

    /// An error out of the change keeps what was changed, and the digest with it.
    @Test func aThrowingChangeKeepsTheDigestRight() {
        struct Stop: Error {}
        var map: ReplicatedMap<String, Int> = ["a": 1]
        for key in ["a", "b"] {
            #expect(throws: Stop.self) {
                try map.updateValue(forKey: key, default: 5) { value in
                    value += 1
                    throw Stop()
                }
            }
        }
        #expect(map == ["a": 2, "b": 6])
        #expect(map.digest == (["b": 6, "a": 2] as ReplicatedMap).digest)
        map.removeAll()
        #expect(map.digest == .zero && map.isEmpty)
    }

    /// Values that are containers are changed in place, and their digests with them.
    @Test func nestedValuesKeepTheDigestRight() {
        typealias Nested = ReplicatedMap<Int, ReplicatedMap<String, [Int]>>
        var map: Nested = [:]
        map[1, default: [:]]["a", default: []].append(7)
        map[1]?["a"]?.append(8)
        map[2, default: [:]]["b"] = []
        #expect(map == [1: ["a": [7, 8]], 2: ["b": []]])
        #expect(map.digest == ([2: ["b": []], 1: ["a": [7, 8]]] as Nested).digest)
        #expect(map.digest != ([2: ["b": []], 1: ["a": [8, 7]]] as Nested).digest)
    }

    /// Equal keys with other bytes are one key, and give one digest.
    @Test func canonicallyEqualKeysAreOne() {
        var map: ReplicatedMap<String, Int> = ["e\u{301}": 1]
        map["\u{E9}"] = 2
        #expect(map.count == 1)
        #expect(map.digest == (["\u{E9}": 2] as ReplicatedMap).digest)
    }

    @Test func pairsComeInTheOrderOfTheirKeys() {
        let map = ReplicatedMap((0..<500).map { ("k\($0)", Int64($0 % 100)) })
        var keys: [String] = []
        map.forEachSorted { key, _ in keys.append(key) }
        #expect(keys == keys.sorted() && keys.count == 500)
        #expect(map.prefix("k49").map(\.key) == ["k49"] + (0...9).map { "k49\($0)" })
        #expect(map.prefix("k", limit: 3).map(\.key) == ["k0", "k1", "k10"])
        #expect(map.prefix("x").isEmpty && map.prefix("k", limit: 0).isEmpty)
        #expect(map.greatest(6).map(\.key) == ["k199", "k299", "k399", "k499", "k99", "k198"])
        #expect(map.greatest(1_000).count == 500)
        #expect(map.first(2) { _, value in value == 42 }.map(\.key) == ["k142", "k242"])
        #expect(map.total { $1 } == 24_750)
        #expect(([2: "b", 1: "a"] as ReplicatedMap).description == "[1: a, 2: b]")
    }

    /// Both codings give an equal map back, and refuse or survive everything else.
    @Test func itGoesThroughBothCodings() throws {
        let map = ReplicatedMap((0..<40).map { ("k\($0)", Int64($0)) })
        let json = try JSONEncoder().encode(map)
        #expect(try JSONDecoder().decode(ReplicatedMap<String, Int64>.self, from: json) == map)
        let numbers: ReplicatedMap<Int, String> = [3: "c", 1: "a"]
        let list = try JSONEncoder().encode(numbers)
        #expect(String(decoding: list, as: UTF8.self) == #"[1,"a",3,"c"]"#)
        #expect(try JSONDecoder().decode(ReplicatedMap<Int, String>.self, from: list) == numbers)
        let coding = Coding<ReplicatedMap<String, Int64>>.wire
        let bytes = try coding.encoded(map)
        let back = try coding.decoded(bytes)
        #expect(back == map && back.digest == map.digest)
        for end in bytes.indices { #expect(throws: WireError.self) { try coding.decoded(Array(bytes[..<end])) } }
        #expect(throws: WireError.self) { try coding.decoded([2, 1, 0x61, 2, 1, 0x61, 4]) }
    }
}

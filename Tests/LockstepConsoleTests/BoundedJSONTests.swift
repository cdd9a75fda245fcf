import Counters
import Foundation
import Lockstep
import LockstepConsole
import Testing

/// A state as JSON: whole where there is room, JSON also where there is none.
@Suite struct BoundedJSONTests {
    private struct Shop: Encodable {
        var name = "a \"shop\"\n\u{1}"
        var stock: ReplicatedMap<String, Int64> = ["pears": 2, "apples": 5]
        var prices: [String: Double] = ["pears": 0.5, "gold": .infinity]
        var open: Bool? = true
        var owner: String?
        var hours = [9, 17]
        var kind = Kind.market(days: 2)
        var bytes = Data([1, 2, 3])
        enum Kind: Encodable { case market(days: Int) }
    }

    @Test func allOfASmallValueIsThereInItsOrder() throws {
        let json = BoundedJSON(Shop(), limit: 1_000)
        #expect(
            json.text
                == #"{"name":"a \"shop\"\n\u0001","stock":{"apples":5,"pears":2},"prices":{"gold":"inf","pears":0.5},"#
                + #""open":true,"hours":[9,17],"kind":{"market":{"days":2}},"bytes":"AQID"}"#)
        #expect(!json.isCut && json.cuts == [])
    }

    /// Whatever the bound is, what comes out is JSON, is not much longer, and says that it was cut.
    @Test func whateverTheBoundIsWhatComesOutIsJSON() throws {
        let whole = BoundedJSON(Shop(), limit: 1_000).text
        for limit in 0..<whole.utf8.count {
            let json = BoundedJSON(Shop(), limit: limit)
            #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.text.utf8)) }
            #expect(json.text.utf8.count <= limit + 60, "limit \(limit): \(json.text)")
            #expect(json.isCut || json.text == whole)
        }
    }

    /// Of a large map the first names are kept, and it is said how many there are.
    @Test func aLargeMapIsCutAndCounted() throws {
        var state = Counters.State()
        for number in 0..<20_000 { state.values["counter-\(100_000 + number)"] = Int64(number) }
        let json = BoundedJSON(state, limit: 4_096)
        #expect(json.text.hasPrefix(#"{"values":{"counter-100000":0,"counter-100001":1,"#))
        #expect(json.cuts == [.init(path: "values", count: 20_000)])
        #expect((3_000...4_200).contains(json.text.utf8.count))
    }

    /// Containers that are filled in turn get what was meant for them.
    @Test func containersMayBeFilledInAnyOrder() {
        struct Interleaved: Encodable {
            enum CodingKeys: CodingKey { case one, two }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                var one = container.nestedUnkeyedContainer(forKey: .one)
                var two = container.nestedContainer(keyedBy: CodingKeys.self, forKey: .two)
                try one.encode(1)
                try two.encode("a", forKey: .one)
                try one.encode(2)
                try two.encodeNil(forKey: .two)
            }
        }
        #expect(BoundedJSON(Interleaved(), limit: 100).text == #"{"one":[1,2],"two":{"one":"a","two":null}}"#)
    }

    /// A value that holds itself ends, and one that refuses says so.
    @Test func aValueThatCannotBeEncodedIsNoCrash() {
        struct Endless: Encodable {
            enum CodingKeys: CodingKey { case inner }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(self, forKey: .inner)
            }
        }
        struct Refusing: Encodable {
            func encode(to encoder: any Encoder) throws { throw Rejection("no") }
        }
        #expect(BoundedJSON(Endless(), limit: 100_000).isCut)
        #expect(BoundedJSON(Refusing(), limit: 100).text.contains("it cannot be encoded"))
    }

    /// Goal: the time grows as the number of pairs does, and is not over if they are copied for each key.
    @Test(.timeLimit(.minutes(1))) func aLargeMapOfNumbersIsWhole() {
        let numbers = Dictionary(uniqueKeysWithValues: (0..<200_000).map { ($0, $0 * 3) })
        let json = BoundedJSON(numbers, limit: 4 << 20)
        // In the order in which the map encodes itself.
        let pairs = numbers.map { "\"\($0.key)\":\($0.value)" }
        let isWhole = json.text == "{" + pairs.joined(separator: ",") + "}"
        #expect(isWhole && !json.isCut, "\(json.text.utf8.count) bytes, \(json.text.prefix(100))")
    }

    @Test func aLongTextIsCut() {
        let json = BoundedJSON(["a": String(repeating: "x", count: 5_000)], limit: 400)
        #expect(json.isCut && json.text.hasPrefix(#"{"a":"xxx"#) && json.text.hasSuffix(#"x…"}"#))
        #expect(json.text.utf8.count < 400)
    }
}

/// How much of a state may be kept.
@Suite struct KeptStatesTests {
    private struct Mixed: Encodable {
        var map: ReplicatedMap<String, Int64> = [:]
        var inner: Inner
        struct Inner: Encodable { var list: [Int64] }
    }

    private struct Plain: Encodable { var counts: [String: Int] }

    /// Goal: a large dictionary is measured in a time that grows as it does, and no further than there is room.
    @Test(.timeLimit(.minutes(1))) func aLargeDictionaryIsMeasured() {
        var plain = Plain(counts: [:])
        for number in 0..<1_000 { plain.counts["counter-\(number)"] = number }
        #expect(KeptStates.count(of: plain) == KeptStates.most)
        for number in 0..<100_000 { plain.counts["counter-\(number)"] = number }
        #expect(KeptStates.count(of: plain) == 32)
        for number in 0..<300_000 { plain.counts["counter-\(number)"] = number }
        #expect(KeptStates.count(of: plain) == KeptStates.fewest)
    }

    /// A map that copies share is not counted; an array within the state is.
    @Test func whatCopiesShareIsNotCounted() {
        var state = Counters.State()
        for number in 0..<100_000 { state.values["counter-\(number)"] = Int64(number) }
        #expect(KeptStates.count(of: state) == KeptStates.most)
        var mixed = Mixed(map: state.values, inner: .init(list: [1, 2]))
        #expect(KeptStates.count(of: mixed) == KeptStates.most)
        mixed.inner.list = Array(0..<100_000)
        #expect(KeptStates.count(of: mixed) == 32)
        mixed.inner.list = Array(0..<1_000_000)
        #expect(KeptStates.count(of: mixed) == KeptStates.fewest)
        #expect(KeptStates.count(of: mixed.inner.list) == KeptStates.fewest)
    }
}

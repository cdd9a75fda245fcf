import Foundation
import Lockstep
import Testing

/// The parts of a state are those of its digest (PROTOCOL R-51).
@Suite struct StatePartsTests {
    private struct Inner: Codable, Sendable, Hashable {
        var name: String
        var price: Double?
    }
    private enum Kind: String, Codable, Digestible { case small, large }
    private struct Everything: Codable {
        var number = 5
        var text = "é"
        var flag = true
        var missing: Int?
        var list = [1, 2, 3]
        var inners = [Inner(name: "a", price: 1), Inner(name: "b", price: nil)]
        var set: Set<Inner> = [Inner(name: "s", price: 2), Inner(name: "t", price: 3)]
        var names: Set<String> = ["x", "y"]
        var table: [String: Inner] = ["k": Inner(name: "v", price: 4), "a b": Inner(name: "w", price: nil)]
        var keyed: [Inner: Int] = [Inner(name: "k", price: 1): 7]
        var map: ReplicatedMap<String, Int> = ["Ada": 1, "Grace": 2]
        var numbers: ReplicatedMap<Int, String> = [3: "three"]
        var kind = Kind.large
        var date = Date(timeIntervalSince1970: 5)
        var data = Data([1, 2, 3])
        var time = LogTime(rawValue: 9)
    }

    private func sum(_ parts: [StatePart]) -> Digest { parts.compactMap(\.summand).reduce(.zero, +) }

    @Test func thePartsAddUpToTheDigest() {
        let everything = Everything()
        #expect(sum(StateDigest.parts(of: everything)) == StateDigest.digest(of: everything))
        for value in [["a": [1]], ["b": []], [:]] as [[String: [Int]]] {
            #expect(sum(StateDigest.parts(of: value)) == StateDigest.digest(of: value))
        }
        #expect(sum(StateDigest.parts(of: everything.map)) == StateDigest.digest(of: everything.map))
        #expect(sum(StateDigest.parts(of: 7)) == StateDigest.digest(of: 7))
    }

    @Test func pathsNameWhatIsThere() {
        let values = Dictionary(
            StateDigest.parts(of: Everything()).compactMap { part in part.value.map { (part.path, $0) } },
            uniquingKeysWith: { first, _ in first })
        #expect(values["number"] == "5")
        #expect(values["list[2]"] == "3")
        #expect(values["inners[1].name"] == "\"b\"")
        #expect(values["table[\"a b\"].name"] == "\"w\"")
        #expect(values["map[\"Ada\"]"] == "1")
        #expect(values["numbers[3]"] == "\"three\"")
        #expect(values["names[\"x\"]"] == "there")
        #expect(values["kind"] == "\"large\"")
    }
}

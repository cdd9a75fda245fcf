import Foundation
import Lockstep
import Testing

/// The digest is the same for equal states, whatever order their containers have in memory (PROTOCOL R-51).
@Suite struct DigestTests {
    struct Point: Codable, Hashable {
        var x: Int
        var label: String?
        var inner: [Double] = []
    }

    struct Everything: Codable {
        var set: Set<Point>
        var byPoint: [Point: Set<String>]
        var byNumber: [Int: String]
        var list: [Point]
    }

    /// Builds a set with room for more, so that its order in memory is another one.
    private static func roomy<Element>(_ elements: some Sequence<Element>) -> Set<Element> {
        var set = Set<Element>(minimumCapacity: 4_096)
        for element in elements { set.insert(element) }
        return set
    }

    private static func points(_ range: some Sequence<Int>) -> [Point] {
        range.map { Point(x: $0, label: $0.isMultiple(of: 3) ? nil : "p\($0)", inner: [Double($0) / 7]) }
    }

    private static func everything(_ order: some Collection<Int>) -> Everything {
        var byPoint = [Point: Set<String>](minimumCapacity: order.first == 0 ? 0 : 2_048)
        for point in points(order) { byPoint[point] = roomy(order.map { "s\($0)" }) }
        var byNumber = [Int: String](minimumCapacity: order.first == 0 ? 0 : 2_048)
        for number in order { byNumber[number] = "n\(number)" }
        let set = order.first == 0 ? Set(points(order)) : roomy(points(order))
        return Everything(set: set, byPoint: byPoint, byNumber: byNumber, list: points(0..<4))
    }

    /// Sets and dictionaries at every depth, also those whose keys are no texts, built forwards and backwards.
    @Test func theOrderOfSetsAndDictionariesDoesNotMatter() {
        let forwards = Self.everything(Array(0..<50))
        let backwards = Self.everything(Array((0..<50).reversed()))
        #expect(Array(forwards.set) != Array(backwards.set), "the test needs two orders")
        #expect(StateDigest.digest(of: forwards) == StateDigest.digest(of: backwards))
        let sets = (Set(0..<500), Self.roomy((0..<500).reversed()))
        #expect(Array(sets.0) != Array(sets.1), "the test needs two orders")
        #expect(StateDigest.digest(of: sets.0) == StateDigest.digest(of: sets.1))
    }

    /// Each single change shows, also a change of place in an array and a value under another key.
    @Test func everyChangeOfAStateShows() {
        let base = Self.everything(Array(0..<10))
        var digests = [StateDigest.digest(of: base)]
        func change(_ body: (inout Everything) -> Void) {
            var changed = base
            body(&changed)
            digests.append(StateDigest.digest(of: changed))
        }
        change { $0.list.swapAt(0, 1) }
        change { $0.list.removeLast() }
        change { $0.list[0].label = "" }
        change { $0.set.removeFirst() }
        change { $0.byNumber[3] = "n4" }
        change { $0.byNumber = [:] }
        change { $0.byPoint[Point(x: 1, label: "p1", inner: [1 / 7])]?.insert("new") }
        change { ($0.byNumber[1], $0.byNumber[2]) = ($0.byNumber[2], $0.byNumber[1]) }
        #expect(Set(digests).count == digests.count)
    }

    /// Nothing, empty and zero are told apart, where types allow them in one place.
    @Test func nothingAndEmptyAreDifferent() {
        struct Holder: Encodable {
            var value: [Int?]?
        }
        let digests = [nil, [], [nil], [0], [nil, nil]].map { StateDigest.digest(of: Holder(value: $0)) }
        #expect(Set(digests).count == digests.count)
        #expect(Int??.none.contentDigest != Int??.some(nil).contentDigest)
    }

    /// "é" as one scalar and as two are equal texts, so they have one digest; so have the two zeros.
    @Test func equalTextsAndNumbersHaveEqualDigests() {
        #expect("e\u{301}" == "\u{E9}")
        #expect("e\u{301}".contentDigest == "\u{E9}".contentDigest)
        #expect("\u{1112}\u{1161}\u{11AB}".contentDigest == "\u{D55C}".contentDigest)
        #expect("e".contentDigest != "\u{E9}".contentDigest)
        #expect((-0.0).contentDigest == 0.0.contentDigest)
        #expect(Int8(-1).contentDigest == Int64(-1).contentDigest)
    }

    /// Durations and dates are digested as the number that they are; the smallest part shows.
    @Test func timesHaveTheDigestsOfTheirNumbers() {
        #expect(Duration(attoseconds: -3).contentDigest == (-3).contentDigest)
        #expect(Duration.seconds(1).contentDigest == UInt128(1_000_000_000_000_000_000).contentDigest)
        #expect(Duration.seconds(1).contentDigest != Duration(attoseconds: 1_000_000_000_000_000_001).contentDigest)
        #expect(Date(timeIntervalSinceReferenceDate: -0.0).contentDigest == 0.0.contentDigest)
        #expect(Date(timeIntervalSinceReferenceDate: 7.25).contentDigest == 7.25.contentDigest)
        #expect(StateDigest.digest(of: [Date(timeIntervalSinceReferenceDate: 7.25)]) == StateDigest.digest(of: [7.25]))
    }

    /// The numbers are a format: another process, version or platform must compute the same.
    ///
    /// They were computed by a second implementation of the rules in ``StateDigest``.
    @Test func digestsAreTheSameInEveryProcess() {
        struct Small: Codable {
            var count: Int
            var names: [String]
            var tags: Set<String>
        }
        let small = Small(count: -3, names: ["a", "b"], tags: ["x", "y"])
        #expect("".contentDigest.description == golden["empty"])
        #expect("visits".contentDigest.description == golden["visits"])
        #expect(Digest.pair("visits".contentDigest, 7.contentDigest).description == golden["pair"])
        #expect(5.keyDigest.description == golden["key5"])
        #expect(["a", "b"].contentDigest.description == golden["list"])
        #expect(StateDigest.digest(of: small).description == golden["small"])
        #expect(
            ReplicatedMap<String, Int64>(dictionaryLiteral: ("a", 1), ("b", -2)).digest.description == golden["map"])
    }

    private let golden = [
        "empty": "f73523235d4546b9df94af26e8219e62",
        "visits": "f335be95b35d9e1e4c80735f5a05511a",
        "pair": "956080add4569801692b122206da701e",
        "key5": "da5d195edc7e029406424a0850c02899",
        "list": "774ca23ba654ba018b44a4c6e3071af9",
        "small": "9454e8051030db1a9b9fa8e10728c58d",
        "map": "ed634f59c3935be2ca38a60858295aff",
    ]

    /// The reference code's vector for SipHash-2-4-128 and another implementation's for 1-3.
    @Test func sipHashAgreesWithItsVectors() {
        let key: (UInt64, UInt64) = (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        let reference = SipHash(key: key, compressionRounds: 2, finalizationRounds: 4)
        let hash = { (sip: SipHash, bytes: [UInt8]) in bytes.withUnsafeBytes { sip.hash($0) } }
        #expect(hash(reference, []) == 0x9302_55C7_1472_F66D_E6A8_25BA_047F_81A3)
        let short = SipHash(key: key, compressionRounds: 1, finalizationRounds: 3)
        #expect(hash(short, []) == 0x0130_30DD_6ADB_62FD_BEA5_8827_B2BC_7EE7)
        #expect(hash(short, [0]) == 0x63F0_2F2B_CC73_055E_A8ED_D360_0437_6FFC)
    }
}

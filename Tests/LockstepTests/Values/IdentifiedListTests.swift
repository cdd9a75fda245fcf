import Foundation
import Lockstep
import LockstepCore
import Testing

private struct Chore: Identifiable, Codable, Hashable, Sendable, WireCodable {
    let id: Int
    var title: String

    init(_ id: Int, _ title: String = "") {
        self.id = id
        self.title = title
    }

    func encode(into writer: inout ByteWriter) {
        id.encode(into: &writer)
        title.encode(into: &writer)
    }

    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        id = try Int(from: bytes, &reader)
        title = try String(from: bytes, &reader)
    }
}

/// Collections of elements addressed by id (SEMANTICS 2.1, identified collections).
@Suite struct IdentifiedListTests {
    private typealias List = IdentifiedList<Chore>

    /// One random write on both; the results must agree.
    private func write(_ list: inout List, _ model: inout [Chore], _ step: Int, _ random: inout SplitMix64) {
        let (id, other) = (Int(random.next(below: 90)), Int(random.next(below: 90)))
        let index = Int(random.next(below: 110)) - 10
        let chore = Chore(id, "\(step)")
        let place = model.firstIndex { $0.id == id }
        let otherPlace = model.firstIndex { $0.id == other }
        func moved(_ place: Int, _ offset: Int) {
            let chore = model.remove(at: place)
            guard let target = model.firstIndex(where: { $0.id == other }) else { return }
            model.insert(chore, at: target + offset)
        }
        switch random.next(below: 10) {
        case 0:
            #expect(list.append(chore) == (place == nil))
            if place == nil { model.append(chore) }
        case 1:
            #expect(list.insert(chore, at: index) == (place == nil))
            if place == nil { model.insert(chore, at: min(max(0, index), model.count)) }
        case 2, 3:
            let isAfter = random.next(below: 2) == 0
            let isPossible = place == nil && otherPlace != nil
            #expect((isAfter ? list.insert(chore, after: other) : list.insert(chore, before: other)) == isPossible)
            if isPossible, let otherPlace { model.insert(chore, at: otherPlace + (isAfter ? 1 : 0)) }
        case 4:
            #expect(list.move(id, to: index) == (place != nil))
            if let place {
                let chore = model.remove(at: place)
                model.insert(chore, at: min(max(0, index), model.count))
            }
        case 5, 6:
            let isAfter = random.next(below: 2) == 0
            let isPossible = place != nil && otherPlace != nil && id != other
            #expect((isAfter ? list.move(id, after: other) : list.move(id, before: other)) == isPossible)
            if isPossible, let place { moved(place, isAfter ? 1 : 0) }
        case 7: #expect(list.remove(id) == place.map { model.remove(at: $0) })
        case 8:
            #expect(list.update(id) { $0.title += "!" } != nil || place == nil)
            if let place { model[place].title += "!" }
        default:
            list[id: id] = chore
            if let place { model[place] = chore } else { model.append(chore) }
        }
    }

    private func check(_ list: List, _ model: [Chore]) throws {
        #expect(list.brokenInvariant() == nil)
        #expect(list.elements == model && Array(list) == model && list.ids == model.map(\.id))
        #expect(list.count == model.count && list.isEmpty == model.isEmpty)
        for (index, chore) in model.enumerated() {
            #expect(list.index(of: chore.id) == index && list.id(at: index) == chore.id)
            #expect(list[index] == chore && list[id: chore.id] == chore && list.contains(id: chore.id))
        }
        let anew = List(model)
        #expect(anew == list && anew.contentDigest == list.contentDigest && anew.hashValue == list.hashValue)
        let coding = Coding<List>.wire
        #expect(try coding.decoded(try coding.encoded(list)) == list)
        #expect(try JSONDecoder().decode(List.self, from: try JSONEncoder().encode(list)) == list)
    }

    /// Random writes against an array; kept copies are unchanged, and digests depend on the contents only.
    @Test(arguments: 1...8) func itBehavesLikeAnArray(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var list = List()
        var model: [Chore] = []
        var kept: [(list: List, model: [Chore])] = []
        for step in 0..<1_500 {
            write(&list, &model, step, &random)
            if step.isMultiple(of: 150) { kept.append((list, model)) }
        }
        kept.append((list, model))
        for (list, model) in kept { try check(list, model) }
        list.removeAll()
        #expect(list.isEmpty && list.contentDigest == .zero && list.id(at: 0) == nil)
    }

    /// Insertions at one place use the labels between two neighbours up, so that they must be spread again and again.
    @Test(arguments: ["front", "back", "after the first", "before the last", "alternately"])
    func manyInsertionsAtOnePlaceKeepTheOrder(place: String) {
        var list: List = [Chore(-1), Chore(-2)]
        var model = [-1, -2]
        for id in 0..<3_000 {
            let index =
                switch place {
                case "front": 0
                case "back": model.count
                case "after the first": 1
                case "before the last": model.count - 1
                default: model.count / 2
                }
            list.insert(Chore(id), at: index)
            model.insert(id, at: index)
        }
        #expect(list.ids == model && list.brokenInvariant() == nil)
    }

    /// What cannot be done is refused and changes nothing.
    @Test func whatCannotBeDoneIsRefused() {
        var list: List = [Chore(1, "a"), Chore(2, "b"), Chore(1, "c")]
        let before = list
        #expect(list.elements == [Chore(1, "a"), Chore(2, "b")])
        #expect(!list.append(Chore(1)) && !list.insert(Chore(2), at: 0) && !list.replace(Chore(3)))
        #expect(!list.insert(Chore(3), before: 4) && !list.insert(Chore(1), after: 2))
        #expect(!list.move(3, to: 0) && !list.move(1, before: 1) && !list.move(1, after: 4))
        #expect(list.remove(9) == nil && list.update(9) { $0.title = "" } == nil)
        #expect(list.update(1) { $0 = Chore(5) } == nil, "an id cannot be changed in place")
        list[id: 1] = Chore(2, "another id")
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try list.update(1) { chore in
                chore.title = "x"
                throw Stop()
            }
        }
        #expect(list == before && list.contentDigest == before.contentDigest)
        list[id: 1] = nil
        list[id: 2]?.title += "!"
        #expect(list.elements == [Chore(2, "b!")])
    }

    /// The order is in the digest, and so is every element.
    @Test func theDigestTellsOrdersApart() {
        let (a, b, c) = (Chore(1), Chore(2), Chore(3))
        let lists: [List] = [
            [a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a], [a, b], [b, a], [a], [],
        ]
        #expect(Set(lists.map(\.contentDigest)).count == lists.count)
        #expect(([Chore(1, "x")] as List).contentDigest != ([Chore(1, "y")] as List).contentDigest)
    }

    /// It is an array in JSON; an id that comes twice is refused in both codings.
    @Test func itIsEncodedAsAnArray() throws {
        let list: List = [Chore(2, "b"), Chore(1, "a")]
        #expect(try JSONDecoder().decode([Chore].self, from: try JSONEncoder().encode(list)) == list.elements)
        let twice = try JSONEncoder().encode([Chore(1), Chore(1)])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(List.self, from: twice) }
        let coding = Coding<List>.wire
        let bytes = try coding.encoded(list)
        for end in bytes.indices { #expect(throws: WireError.self) { try coding.decoded(Array(bytes[..<end])) } }
        let pair = try Coding<[Chore]>.wire.encoded([Chore(1), Chore(1)])
        #expect(throws: WireError.self) { try coding.decoded(pair) }
    }
}

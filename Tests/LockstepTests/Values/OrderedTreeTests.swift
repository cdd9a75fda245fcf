import Lockstep
import LockstepCore
import Testing

/// The sorted tree under timers, deadlines and lists.
@Suite struct OrderedTreeTests {
    /// Random writes against a sorted array; the tree keeps its shape, and copies keep what they had.
    @Test(arguments: 1...6) func itBehavesLikeASortedArray(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var tree = OrderedTree<Int>()
        var model: [Int] = []
        var kept: [(tree: OrderedTree<Int>, model: [Int])] = []
        for step in 0..<6_000 {
            // It grows to thousands, so that there are several levels, and shrinks to nothing.
            let isGrowing = (step / 2_000).isMultiple(of: 2)
            let value = Int(random.next(below: 3_000))
            let place = model.firstIndex { $0 >= value } ?? model.count
            let isThere = place < model.count && model[place] == value
            if random.next(below: 10) < (isGrowing ? 9 : 1) {
                #expect(tree.insert(value) == !isThere)
                if !isThere { model.insert(value, at: place) }
            } else {
                #expect(tree.remove(value) == (isThere ? value : nil))
                if isThere { model.remove(at: place) }
            }
            if step.isMultiple(of: 500) { kept.append((tree, model)) }
            #expect(tree.rank(of: value) == place)
        }
        for value in 0..<3_000 { tree.remove(value) }
        kept.append((tree, []))
        for (tree, model) in kept { check(tree, model, &random) }
    }

    private func check(_ tree: OrderedTree<Int>, _ model: [Int], _ random: inout SplitMix64) {
        #expect(tree.brokenInvariant() == nil)
        #expect(tree.count == model.count && tree.first == model.first)
        #expect(tree.prefix(.max) { _ in true } == model)
        #expect(model.indices.allSatisfy { tree.element(at: $0) == model[$0] })
        #expect(tree.element(at: -1) == nil && tree.element(at: model.count) == nil)
        let bound = Int(random.next(below: 3_000))
        #expect(tree.prefix(7) { $0 < bound } == Array(model.prefix { $0 < bound }.prefix(7)))
        let start = Int(random.next(below: UInt64(model.count + 1)))
        var rest: [Int] = []
        tree.forEach(from: start) { value in
            rest.append(value)
            return rest.count < 100
        }
        #expect(rest == Array(model[start...].prefix(100)))
    }

    /// Elements in order, and backwards, fill the leaves from one side.
    @Test func itTakesElementsInOrder() {
        for values in [Array(0..<5_000), Array((0..<5_000).reversed())] {
            var tree = OrderedTree<Int>()
            for value in values { tree.insert(value) }
            #expect(tree.brokenInvariant() == nil && tree.count == 5_000)
            for value in values.dropLast() { tree.remove(value) }
            #expect(tree.brokenInvariant() == nil && tree.first == values.last)
        }
    }
}

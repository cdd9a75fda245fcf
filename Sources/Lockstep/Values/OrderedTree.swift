/// A sorted list without duplicates that is cheap to keep a copy of: what orders timers, deadlines and lists.
///
/// It is a B+ tree of values. A copy costs constant time; a write costs O(log n) and copies only the nodes on its way
/// that a copy still shares. Elements lie in the leaves; an inner node holds a bound between each two of its children:
/// everything left of a bound is less than it, and nothing right of it is.
///
/// Its shape depends on the order of the writes, so nothing that a user sees may depend on the shape.
@usableFromInline
package struct OrderedTree<Element: Comparable> {
    @usableFromInline var root = Node(elements: [], children: [], count: 0)

    @inlinable
    package init() {}

    /// How many elements there are.
    @inlinable
    package var count: Int { root.count }

    /// The least element: O(log n).
    @inlinable
    package var first: Element? { element(at: 0) }

    /// The element with `index` elements before it, or `nil` if there is none: O(log n).
    @inlinable
    package func element(at index: Int) -> Element? {
        guard index >= 0, index < count else { return nil }
        return root.element(at: index)
    }

    /// How many elements are less than `element`, whether it is there or not: O(log n).
    @inlinable
    package func rank(of element: Element) -> Int { root.rank(of: element) }

    /// Puts an element in, unless an equal one is there: O(log n).
    @inlinable
    @discardableResult
    package mutating func insert(_ element: Element) -> Bool {
        guard root.insert(element) else { return false }
        if let (bound, right) = root.splitIfFull() {
            let total = root.count + right.count
            root = Node(elements: [bound], children: [root, right], count: total)
        }
        return true
    }

    /// Takes the element that equals `element` out and returns it: O(log n).
    @inlinable
    @discardableResult
    package mutating func remove(_ element: Element) -> Element? {
        guard let removed = root.remove(element) else { return nil }
        if root.children.count == 1 { root = root.children[0] }
        return removed
    }

    /// Calls `body` for the elements from the one at `start`, in order, until it returns false: O(log n + calls).
    @inlinable
    package func forEach(from start: Int = 0, _ body: (Element) throws -> Bool) rethrows {
        guard start < count else { return }
        _ = try root.forEach(from: max(0, start), body)
    }

    /// At most `limit` elements from the beginning, as long as `isIncluded` takes them: O(log n + their number).
    @inlinable
    package func prefix(_ limit: Int, while isIncluded: (Element) -> Bool) -> [Element] {
        var found: [Element] = []
        guard limit > 0 else { return found }
        forEach { element in
            guard isIncluded(element) else { return false }
            found.append(element)
            return found.count < limit
        }
        return found
    }

    /// Checks the shape, for tests; says what is wrong.
    package func brokenInvariant() -> String? {
        root.children.count == 1 ? "the root has one child" : root.brokenInvariant(isRoot: true)
    }
}

extension OrderedTree: Sendable where Element: Sendable {}

extension OrderedTree {
    // A leaf is one copy of memory when it is shared; a tree of 100,000 has three levels.
    @inlinable
    static var leafCapacity: Int { 64 }
    @inlinable
    static var childCapacity: Int { 32 }

    @usableFromInline
    struct Node {
        /// A leaf's elements, or the bounds between an inner node's children.
        @usableFromInline var elements: [Element]
        /// Empty in a leaf.
        @usableFromInline var children: [Node]
        /// How many elements are in the leaves below.
        @usableFromInline var count: Int

        @inlinable
        init(elements: [Element], children: [Node], count: Int) {
            self.elements = elements
            self.children = children
            self.count = count
        }

        @inlinable
        var isLeaf: Bool { children.isEmpty }
        @inlinable
        var isSparse: Bool {
            isLeaf ? elements.count < OrderedTree.leafCapacity / 4 : children.count < OrderedTree.childCapacity / 4
        }

        /// The number of `elements` that are less than `element`.
        @inlinable
        func lowerBound(_ element: Element) -> Int {
            var (low, high) = (0, elements.count)
            while low < high {
                let middle = (low + high) / 2
                if elements[middle] < element { low = middle + 1 } else { high = middle }
            }
            return low
        }

        /// The child that has `element`, if one has it: a bound belongs to the child on its right.
        @inlinable
        func child(of element: Element) -> Int {
            let place = lowerBound(element)
            return place < elements.count && elements[place] == element ? place + 1 : place
        }

        @inlinable
        func element(at index: Int) -> Element {
            guard !isLeaf else { return elements[index] }
            var index = index
            for child in children.dropLast() {
                guard index >= child.count else { return child.element(at: index) }
                index -= child.count
            }
            return children[children.count - 1].element(at: index)
        }

        @inlinable
        func rank(of element: Element) -> Int {
            guard !isLeaf else { return lowerBound(element) }
            let place = child(of: element)
            return children[..<place].reduce(0) { $0 + $1.count } + children[place].rank(of: element)
        }

        @inlinable
        func forEach(from start: Int, _ body: (Element) throws -> Bool) rethrows -> Bool {
            guard !isLeaf else {
                for element in elements[start...] {
                    guard try body(element) else { return false }
                }
                return true
            }
            var start = start
            for child in children {
                if start < child.count {
                    guard try child.forEach(from: start, body) else { return false }
                    start = 0
                } else {
                    start -= child.count
                }
            }
            return true
        }

        @inlinable
        mutating func insert(_ element: Element) -> Bool {
            guard !isLeaf else {
                let place = lowerBound(element)
                if place < elements.count, elements[place] == element { return false }
                elements.insert(element, at: place)
                count += 1
                return true
            }
            let place = child(of: element)
            guard children[place].insert(element) else { return false }
            count += 1
            splitChildIfFull(place)
            return true
        }

        @inlinable
        mutating func splitChildIfFull(_ place: Int) {
            guard let (bound, right) = children[place].splitIfFull() else { return }
            elements.insert(bound, at: place)
            children.insert(right, at: place + 1)
        }

        /// Takes the right half out, if there is too much, and returns it with the bound between the halves.
        @inlinable
        mutating func splitIfFull() -> (bound: Element, right: Node)? {
            if isLeaf {
                guard elements.count > OrderedTree.leafCapacity else { return nil }
                let half = elements.count / 2
                let right = Node(elements: Array(elements[half...]), children: [], count: elements.count - half)
                elements.removeSubrange(half...)
                count = half
                return (right.elements[0], right)
            }
            guard children.count > OrderedTree.childCapacity else { return nil }
            let half = children.count / 2
            let moved = Array(children[half...])
            let right = Node(
                elements: Array(elements[half...]), children: moved, count: moved.reduce(0) { $0 + $1.count })
            let bound = elements[half - 1]
            elements.removeSubrange((half - 1)...)
            children.removeSubrange(half...)
            count -= right.count
            return (bound, right)
        }

        @inlinable
        mutating func remove(_ element: Element) -> Element? {
            guard !isLeaf else {
                let place = lowerBound(element)
                guard place < elements.count, elements[place] == element else { return nil }
                count -= 1
                return elements.remove(at: place)
            }
            let place = child(of: element)
            guard let removed = children[place].remove(element) else { return nil }
            count -= 1
            if children[place].isSparse, children.count > 1 { mergeChild(max(0, place - 1)) }
            return removed
        }

        /// Joins the child at `place` with the one after it, and splits what has become too large.
        @inlinable
        mutating func mergeChild(_ place: Int) {
            let right = children.remove(at: place + 1)
            let bound = elements.remove(at: place)
            if !right.isLeaf { children[place].elements.append(bound) }
            children[place].elements += right.elements
            children[place].children += right.children
            children[place].count += right.count
            splitChildIfFull(place)
        }

        func brokenInvariant(isRoot: Bool) -> String? {
            if zip(elements, elements.dropFirst()).contains(where: { $0 >= $1 }) { return "not in order" }
            if !isRoot, isSparse { return "a sparse node" }
            guard !isLeaf else {
                if elements.count > OrderedTree.leafCapacity { return "a leaf is too large" }
                return count == elements.count ? nil : "a leaf has a wrong count"
            }
            if children.count > OrderedTree.childCapacity { return "a node is too large" }
            if elements.count + 1 != children.count { return "a bound is missing" }
            if Set(children.map(\.isLeaf)).count > 1 { return "leaves at different depths" }
            if count != children.reduce(0, { $0 + $1.count }) { return "a node has a wrong count" }
            for (place, bound) in elements.enumerated() {
                if let last = children[place].last, last >= bound { return "an element is right of its bound" }
                if children[place + 1].element(at: 0) < bound { return "an element is left of its bound" }
            }
            return children.lazy.compactMap { $0.brokenInvariant(isRoot: false) }.first
        }

        private var last: Element? { count > 0 ? element(at: count - 1) : nil }
    }
}

extension OrderedTree.Node: Sendable where Element: Sendable {}

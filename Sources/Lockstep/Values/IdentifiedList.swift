public import HashTreeCollections

/// A list in replicated state whose elements are addressed by their ids: no id twice, and an order of its own.
///
/// A mutation that says "the third element" hits another one if somebody inserts at the front meanwhile; one that
/// names an id does not. Nothing here traps: what cannot be done (a second element of one id, a neighbour that is gone)
/// is refused, says so by its result, and changes nothing.
///
/// It is made of persistent trees: a copy costs constant time and is never changed by later writes. Everything costs
/// O(log n), inserting and moving in the mean over many, unless it says otherwise. The digest is kept up to date by
/// each write and depends on the elements and their order only.
public struct IdentifiedList<Element: Identifiable & Codable & Sendable>: Sendable
where Element.ID: Codable & Sendable {
    /// How elements are addressed.
    public typealias ID = Element.ID

    @usableFromInline
    struct Slot: Sendable {
        @usableFromInline var element: Element
        /// Greater labels are further back; they are nothing but an order and are seen by nobody.
        @usableFromInline var label: UInt64
        /// The digest of the id and the element together.
        @usableFromInline var digest: Digest

        @inlinable
        init(element: Element, label: UInt64, digest: Digest) {
            self.element = element
            self.label = label
            self.digest = digest
        }
    }

    /// An id at its place in the order.
    @usableFromInline
    struct Place: Comparable, Sendable {
        @usableFromInline var label: UInt64
        @usableFromInline var id: ID?

        @inlinable
        init(label: UInt64, id: ID?) {
            self.label = label
            self.id = id
        }

        @inlinable
        static func == (left: Self, right: Self) -> Bool { left.label == right.label }
        @inlinable
        static func < (left: Self, right: Self) -> Bool { left.label < right.label }
    }

    @usableFromInline var slots: TreeDictionary<ID, Slot> = [:]
    @usableFromInline var order = OrderedTree<Place>()
    /// The sum of the slots' digests and of one digest for each two neighbours, which together say what the order is.
    @usableFromInline var sum = Digest.zero

    /// Makes an empty list.
    @inlinable
    public init() {}

    /// Makes a list of the elements; of several with one id the first stays: O(n log n).
    @inlinable
    public init(_ elements: some Sequence<Element>) {
        for element in elements { append(element) }
    }

    // MARK: - Reading

    /// The id of the element at `index`, or `nil` outside the list.
    @inlinable
    public func id(at index: Int) -> ID? { order.element(at: index)?.id }

    /// The place of the element in the list, from 0.
    @inlinable
    public func index(of id: ID) -> Int? {
        slots[id].map { order.rank(of: Place(label: $0.label, id: nil)) }
    }

    /// Whether there is an element of that id.
    @inlinable
    public func contains(id: ID) -> Bool { slots[id] != nil }

    /// The ids in order: O(n).
    @inlinable
    public var ids: [ID] {
        var ids: [ID] = []
        ids.reserveCapacity(count)
        order.forEach { place in
            if let id = place.id { ids.append(id) }
            return true
        }
        return ids
    }

    /// The elements in order: O(n log n).
    @inlinable
    public var elements: [Element] { ids.compactMap { slots[$0]?.element } }

    /// The element of that id.
    ///
    /// Setting `nil` takes it out. Setting an element of the same id puts it in the old one's place, or at the end if
    /// there is none; an element of another id is ignored. To change a part, ``update(_:_:)`` is cheaper.
    @inlinable
    public subscript(id id: ID) -> Element? {
        get { slots[id]?.element }
        set {
            guard let newValue else {
                remove(id)
                return
            }
            guard newValue.id == id else { return }
            if !replace(newValue) { append(newValue) }
        }
    }

    // MARK: - Inserting

    /// Puts an element at the end; refused if there is one of its id.
    @inlinable
    @discardableResult
    public mutating func append(_ element: Element) -> Bool { insert(element, at: count) }

    /// Puts an element in, so that `index` elements are before it.
    ///
    /// An index outside the list counts as its nearer end.
    ///
    /// - Returns: Whether it was put in: not if there is one of its id.
    @inlinable
    @discardableResult
    public mutating func insert(_ element: Element, at index: Int) -> Bool {
        guard slots[element.id] == nil else { return false }
        place(element, at: Swift.min(Swift.max(0, index), count))
        return true
    }

    /// Puts an element in before the one of that id; refused if there is none, or one of the new element's id.
    @inlinable
    @discardableResult
    public mutating func insert(_ element: Element, before id: ID) -> Bool {
        guard let index = index(of: id) else { return false }
        return insert(element, at: index)
    }

    /// Inserts an element after the one of that id; refused if there is none, or one of the new element's id.
    @inlinable
    @discardableResult
    public mutating func insert(_ element: Element, after id: ID) -> Bool {
        guard let index = index(of: id) else { return false }
        return insert(element, at: index + 1)
    }

    // MARK: - Changing

    /// Puts an element in the place of the one with its id; refused if there is none.
    @inlinable
    @discardableResult
    public mutating func replace(_ element: Element) -> Bool { update(element.id) { $0 = element } != nil }

    /// Changes the element of that id where it is; an array in the element is copied, a ``ReplicatedMap`` is not.
    ///
    /// If `body` gives the element another id or throws, the element stays as it was.
    ///
    /// - Returns: What `body` returns, or `nil` if there is no such element or its id was changed.
    @inlinable
    @discardableResult
    public mutating func update<Result>(_ id: ID, _ body: (inout Element) throws -> Result) rethrows -> Result? {
        guard var slot = slots[id] else { return nil }
        let old = slot.digest
        let result = try body(&slot.element)
        guard slot.element.id == id else { return nil }
        slot.digest = Self.digest(slot.element)
        slots.updateValue(slot, forKey: id)
        sum = sum + slot.digest - old
        return result
    }

    /// Moves the element of that id, so that `index` of the other elements are before it.
    ///
    /// An index outside the list counts as its nearer end.
    ///
    /// - Returns: Whether there is such an element.
    @inlinable
    @discardableResult
    public mutating func move(_ id: ID, to index: Int) -> Bool {
        guard let element = remove(id) else { return false }
        return insert(element, at: index)
    }

    /// Moves the element of that id before another one; refused if one of them is missing or they are one.
    @inlinable
    @discardableResult
    public mutating func move(_ id: ID, before other: ID) -> Bool {
        guard id != other, contains(id: other), let element = remove(id) else { return false }
        return insert(element, before: other)
    }

    /// Moves the element of that id after another one; refused if one of them is missing or they are one.
    @inlinable
    @discardableResult
    public mutating func move(_ id: ID, after other: ID) -> Bool {
        guard id != other, contains(id: other), let element = remove(id) else { return false }
        return insert(element, after: other)
    }

    /// Takes the element of that id out and returns it, or `nil` if there is none.
    @inlinable
    @discardableResult
    public mutating func remove(_ id: ID) -> Element? {
        guard let slot = slots[id] else { return nil }
        let index = order.rank(of: Place(label: slot.label, id: nil))
        let (before, after) = (self.id(at: index - 1), self.id(at: index + 1))
        slots.removeValue(forKey: id)
        order.remove(Place(label: slot.label, id: nil))
        sum = sum - slot.digest - Self.link(before, id) - Self.link(id, after) + Self.link(before, after)
        return slot.element
    }

    /// Takes everything out; constant time.
    @inlinable
    public mutating func removeAll() { self = Self() }

    @inlinable
    mutating func place(_ element: Element, at index: Int) {
        let (before, after) = (id(at: index - 1), id(at: index))
        let slot = Slot(element: element, label: freeLabel(at: index), digest: Self.digest(element))
        slots.updateValue(slot, forKey: element.id)
        order.insert(Place(label: slot.label, id: element.id))
        sum =
            sum + slot.digest - Self.link(before, after) + Self.link(before, element.id)
            + Self.link(element.id, after)
    }

    // MARK: - Digests

    @inlinable
    static func digest(_ element: Element) -> Digest {
        .pair(.pair(.listMark, StateDigest.shortDigest(of: element.id)), StateDigest.shortDigest(of: element))
    }

    /// What says that `right` follows `left`; `nil` is the end on either side.
    ///
    /// An empty list has no link.
    @inlinable
    static func link(_ left: ID?, _ right: ID?) -> Digest {
        guard left != nil || right != nil else { return .zero }
        let left = left.map { Digest.pair(.someMark, StateDigest.shortDigest(of: $0)) } ?? .noneMark
        let right = right.map { Digest.pair(.someMark, StateDigest.shortDigest(of: $0)) } ?? .noneMark
        return .pair(.pair(.linkMark, left), right)
    }

    /// Puts the order in place of the one that is there, for the labels' own file.
    @inlinable
    mutating func setOrder(_ places: some Sequence<Place>, removing old: some Sequence<Place>) {
        for place in old { order.remove(place) }
        for place in places {
            order.insert(place)
            if let id = place.id { slots[id]?.label = place.label }
        }
    }

    /// Whether the list keeps its invariants, for tests.
    package func brokenInvariant() -> String? {
        if let broken = order.brokenInvariant() { return broken }
        let ids = ids
        if ids.count != slots.count || order.count != slots.count { return "an id without a place" }
        var sum = Digest.zero
        for (index, id) in ids.enumerated() {
            guard let slot = slots[id], slot.element.id == id else { return "a place without an element" }
            if order.rank(of: Place(label: slot.label, id: nil)) != index { return "a wrong label" }
            sum = sum + Self.digest(slot.element) + Self.link(index == 0 ? nil : ids[index - 1], id)
        }
        if let last = ids.last { sum = sum + Self.link(last, nil) }
        return sum == self.sum ? nil : "a wrong digest"
    }
}

extension IdentifiedList: Digestible {
    /// The digest of the elements and their order, kept up to date by each write; constant time.
    ///
    /// An element adds `pair(pair("list", id), element)`. The left end and the first element, each two neighbours, and
    /// the last element and the right end add `pair(pair("link", left), right)`, where an element is
    /// `pair("some", id)` and an end is "none". Ids and elements stand for their digests
    /// (``StateDigest/digest(of:)``); an empty list adds nothing.
    public var contentDigest: Digest { sum }
}

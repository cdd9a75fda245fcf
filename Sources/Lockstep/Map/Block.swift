/// A short list of which a copy costs nothing until it is written.
///
/// The elements' address lies beside the reference that owns them, so that reading one follows one pointer only: no
/// count is looked at, and no reference is counted. Whoever reads keeps the block alive meanwhile and stays below
/// ``count``.
@usableFromInline
struct Block<Element> {
    @usableFromInline var storage: BlockStorage<Element>
    @usableFromInline var elements: UnsafeMutablePointer<Element>

    /// Makes an empty block with room for `capacity` elements.
    @inlinable
    init(capacity: Int) {
        storage = BlockStorage(capacity: capacity)
        elements = storage.elements
    }

    @inlinable
    init(repeating element: Element, count: Int) {
        self.init(capacity: count)
        elements.initialize(repeating: element, count: count)
        storage.count = count
    }

    @inlinable var count: Int { storage.count }

    /// Where the count of references to the elements lies; to be asked for, not to be followed.
    @inlinable @inline(__always)
    var owner: UnsafeRawPointer? { UnsafeRawPointer(bitPattern: unsafeBitCast(storage, to: UInt.self)) }

    /// Before a write: takes a copy of its own if another block shares the elements.
    @inlinable @inline(__always)
    mutating func own() {
        if !isKnownUniquelyReferenced(&storage) { copy(capacity: storage.capacity) }
    }

    @inlinable
    mutating func append(_ element: Element) {
        if count == storage.capacity { grow() } else { own() }
        (elements + count).initialize(to: element)
        storage.count += 1
    }

    @inlinable
    mutating func removeLast() -> Element {
        own()
        storage.count -= 1
        return (elements + count).move()
    }

    @inlinable @inline(never)
    mutating func copy(capacity: Int) {
        let new = Block(capacity: capacity)
        new.elements.initialize(from: elements, count: count)
        new.storage.count = count
        self = new
    }

    @inlinable @inline(never)
    mutating func grow() {
        let capacity = max(4, storage.capacity + storage.capacity / 2)
        guard isKnownUniquelyReferenced(&storage) else { return copy(capacity: capacity) }
        let new = Block(capacity: capacity)
        new.elements.moveInitialize(from: elements, count: count)
        new.storage.count = count
        storage.count = 0
        self = new
    }
}

/// The elements of one block or, until one of them is written, of several.
@usableFromInline
final class BlockStorage<Element> {
    @usableFromInline let elements: UnsafeMutablePointer<Element>
    @usableFromInline let capacity: Int
    /// How many elements there are, from the first on; written by the one block that owns this only.
    @usableFromInline @exclusivity(unchecked) var count = 0

    @inlinable
    init(capacity: Int) {
        self.capacity = capacity
        elements = .allocate(capacity: capacity)
    }

    @inlinable
    deinit {
        elements.deinitialize(count: count)
        elements.deallocate()
    }
}

/// `@unchecked`: what two blocks share is never written.
extension BlockStorage: @unchecked Sendable where Element: Sendable {}
extension Block: @unchecked Sendable where Element: Sendable {}

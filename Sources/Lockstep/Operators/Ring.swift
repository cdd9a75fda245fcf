internal import DequeModule
public import LockstepCore

/// The newest elements of a sequence of numbered ones, for whoever asks for all after a number.
///
/// The numbers have no holes. What is too old for the ring is said to be so by name: the asker takes a snapshot
/// and asks again from there.
public struct Ring<Element> {
    /// The most elements that it holds.
    public let capacity: Int
    /// The number of the newest element it was given; before the first, where it was told to start.
    public private(set) var newest: SequenceNumber
    private var elements: Deque<Element> = []

    /// Makes an empty ring.
    /// - Parameters:
    ///   - capacity: the most elements that it holds; at least 1.
    ///   - newest: the number before the first element; by default 0, so that the first has number 1.
    public init(capacity: Int, after newest: SequenceNumber = .zero) {
        precondition(capacity >= 1, "a ring has room for an element")
        self.capacity = capacity
        self.newest = newest
    }

    /// How many elements it holds.
    public var count: Int { elements.count }

    /// The number of the oldest element that it holds; `nil` if it holds none.
    public var oldest: SequenceNumber? {
        elements.isEmpty ? nil : SequenceNumber(rawValue: newest.rawValue - UInt64(elements.count) + 1)
    }

    /// Adds an element under the next number, which it returns; the oldest goes if the ring is full.
    @discardableResult public mutating func append(_ element: Element) -> SequenceNumber {
        if elements.count == capacity { elements.removeFirst() }
        elements.append(element)
        newest = newest.next
        return newest
    }

    /// Forgets all elements and goes on after `newest`.
    public mutating func reset(after newest: SequenceNumber) {
        elements.removeAll()
        self.newest = newest
    }

    /// An answer to ``replay(after:)``.
    public enum Replay {
        /// All elements after the number, oldest first; none if it is the newest.
        case elements([Element])
        /// Elements after the number are gone; replay is possible after `oldest` and later numbers.
        case tooOld(oldest: SequenceNumber)
        /// There is no such number yet.
        case ahead(newest: SequenceNumber)
    }

    /// All elements after a number, or why that cannot be answered; the cost is that of copying them.
    public func replay(after sequence: SequenceNumber) -> Replay {
        guard sequence <= newest else { return .ahead(newest: newest) }
        let wanted = newest.rawValue - sequence.rawValue
        guard wanted <= UInt64(elements.count) else {
            return .tooOld(oldest: SequenceNumber(rawValue: newest.rawValue - UInt64(elements.count)))
        }
        return .elements(Array(elements.suffix(Int(wanted))))
    }
}

extension Ring: Sendable where Element: Sendable {}
extension Ring.Replay: Sendable where Element: Sendable {}
extension Ring.Replay: Equatable where Element: Equatable {}

/// What is different between two states of one reactor, in words: `values.visits: 3 -> 4`.
///
/// It is for logs and tests. Both states are walked as the digest walks them (``StateDigest``), about 2 us for each
/// part; a value with a digest of its own that is equal in both, such as a ``ReplicatedMap``, an ``IdentifiedList`` or
/// ``Timers``, is not looked into. So the cost is that of all parts outside of such values, and of the parts of those in
/// which something changed; of two copies of a ``ReplicatedMap``, of some hundred pairs around each one that changed.
public struct StateChanges: Hashable, Sendable, CustomStringConvertible {
    /// What changed, in the order in which the states encode it; what was added comes last.
    public let changes: [StateChange]
    /// How many more changes there are, beyond the limit.
    public let omitted: Int
    /// There was more to compare than was allowed, so nothing is said of what changed.
    package let isTooLarge: Bool

    /// Compares two values, which may be of different types.
    ///
    /// - Parameters:
    ///   - old: The value before.
    ///   - new: The value after.
    ///   - limit: The most changes that are kept, 16 if not said otherwise.
    public init(from old: some Encodable, to new: some Encodable, limit: Int = 16) {
        self.init(from: old, to: new, limit: limit, mostParts: .max)
    }

    /// The same, with a bound of the parts that are walked in each value: ``isTooLarge`` if there are more.
    package init(from old: some Encodable, to new: some Encodable, limit: Int, mostParts: Int) {
        guard let (before, after) = DifferingParts(limit: mostParts).between(old, new) else {
            changes = []
            omitted = 0
            isTooLarge = true
            return
        }
        isTooLarge = false
        let comparison = PartComparison([before, after])
        var changes: [StateChange] = []
        var indices: [String: Int] = [:]
        for path in comparison.innermost {
            let parts = comparison.tables.map { $0[path] }
            let sides = parts.map { $0.map(Self.text) }
            guard sides.contains(nil) else {
                changes.append(StateChange(path: path, before: sides[0], after: sides[1]))
                continue
            }
            // What came or went as a whole is one change, with its parts in braces.
            let (there, missing) = sides[0] == nil ? (1, 0) : (0, 1)
            let whole =
                PartComparison.wholes(of: path).first {
                    comparison.tables[there][$0] != nil && comparison.tables[missing][$0] == nil
                } ?? path
            if let index = indices[whole] {
                changes[index].add(sides[there], path)
            } else {
                indices[whole] = changes.count
                var change = StateChange(path: whole, before: nil, after: nil)
                change.begin(sides[there], path, isBefore: there == 0)
                changes.append(change)
            }
        }
        self.changes = changes.prefix(max(0, limit)).map { $0.closed() }
        omitted = max(0, changes.count - max(0, limit))
    }

    /// Whether nothing changed.
    public var isEmpty: Bool { changes.isEmpty && omitted == 0 }

    /// One line for each change, and one that says how many more there are.
    public var description: String {
        let lines = changes.map(\.description) + (omitted > 0 ? ["and \(omitted) more"] : [])
        return lines.joined(separator: "\n")
    }

    private static func text(_ parts: [StatePart]) -> String {
        if parts.contains(where: { $0.value != nil }) { return PartComparison.text(parts) }
        switch parts.last?.content {
        case .objectMark?, .mapMark?: return "{}"
        case .listMark?, .setMark?: return "[]"
        default: return PartComparison.text(parts)
        }
    }
}

/// One place of a state that changed.
public struct StateChange: Hashable, Sendable, CustomStringConvertible {
    /// The keys and indices that lead to it, such as `votes["Ada"]`; empty for the state itself.
    public let path: String
    /// What was there, in at most 200 characters; `nil` if there was nothing.
    public private(set) var before: String?
    /// What is there now, in at most 200 characters; `nil` if there is nothing.
    public private(set) var after: String?
    private var isWhole = false

    fileprivate init(path: String, before: String?, after: String?) {
        self.path = path
        self.before = before
        self.after = after
    }

    /// `path: before -> after`, or `path: added after`, or `path: removed before`.
    public var description: String {
        let place = path.isEmpty ? "the state" : path
        switch (before, after) {
        case (let before?, let after?): return "\(place): \(before) -> \(after)"
        case (nil, let after?): return "\(place): added\(Self.shown(after))"
        case (let before?, nil): return "\(place): removed\(Self.shown(before))"
        case (nil, nil): return "\(place): nothing"
        }
    }

    // An element of a set is its own path, and texts of the state stand in quotes.
    private static func shown(_ text: String) -> String { text == "there" ? "" : " \(text)" }

    fileprivate mutating func begin(_ text: String?, _ part: String, isBefore: Bool) {
        isWhole = part != path
        let text = isWhole ? "{\(inner(part)): \(text ?? "")" : text
        if isBefore { before = text } else { after = text }
    }

    fileprivate mutating func add(_ text: String?, _ part: String) {
        let more = ", \(inner(part)): \(text ?? "")"
        // What is longer is cut off anyway.
        if let there = before, there.utf8.count <= 800 { before = there + more }
        if let there = after, there.utf8.count <= 800 { after = there + more }
    }

    fileprivate func closed() -> StateChange {
        var change = self
        let end = isWhole ? "}" : ""
        change.before = before.map { PartComparison.shortened($0 + end) }
        change.after = after.map { PartComparison.shortened($0 + end) }
        return change
    }

    private func inner(_ part: String) -> Substring {
        let rest = part.dropFirst(path.count)
        return rest.first == "." ? rest.dropFirst() : rest
    }
}

/// Walks two values beside each other.
private final class DifferingParts {
    /// The most parts of a list.
    private let limit: Int
    private var isCut = false

    init(limit: Int) { self.limit = limit }

    /// The parts of two values, without those of ``Digestible`` values whose digests are equal; nil if there are too many.
    func between(_ old: some Encodable, _ new: some Encodable) -> ([StatePart], [StatePart])? {
        let (left, right) = (list(), list())
        left.add(old, at: PartPlace(text: "", digest: .rootMark))
        right.add(new, at: PartPlace(text: "", digest: .rootMark))
        let parts = differing(left, right)
        return isCut ? nil : parts
    }

    private func list(isLazy: Bool = true) -> PartList { PartList(isLazy: isLazy, limit: limit) }

    private func differing(_ left: PartList, _ right: PartList) -> ([StatePart], [StatePart]) {
        isCut = isCut || left.isCut || right.isCut
        guard !isCut else { return ([], []) }
        var insides: [[Int: [StatePart]]] = [[:], [:]]
        var others = Dictionary(right.wholes.map { ($0.place.text, $0) }) { first, _ in first }
        for whole in left.wholes {
            guard let other = others.removeValue(forKey: whole.place.text) else {
                insides[0][whole.index] = allParts(inside: whole)
                continue
            }
            guard left.parts[whole.index].content != right.parts[other.index].content else { continue }
            let lists = (list(), list())
            lists.0.addInside(of: whole.value, at: whole.place, differingFrom: other.value)
            lists.1.addInside(of: other.value, at: other.place, differingFrom: whole.value)
            (insides[0][whole.index], insides[1][other.index]) = differing(lists.0, lists.1)
        }
        for other in others.values { insides[1][other.index] = allParts(inside: other) }
        let parts = zip([left, right], insides).map { list, insides in
            list.parts.enumerated().flatMap { [$1] + (insides[$0] ?? []) }
        }
        return (parts[0], parts[1])
    }

    private func allParts(inside whole: (index: Int, place: PartPlace, value: any Encodable)) -> [StatePart] {
        let list = list(isLazy: false)
        list.addInside(of: whole.value, at: whole.place)
        isCut = isCut || list.isCut
        return list.parts
    }
}

// Entries are named by their keys and elements by their ids, so that one that comes or goes does not rename the others.

extension Timers: UnorderedParts {
    private struct Timer: Encodable {
        let deadline: LogTime
        let payload: Payload
    }

    func addParts(to list: PartList, at place: PartPlace) {
        for timer in sorted() {
            list.add(Timer(deadline: timer.deadline, payload: timer.payload), at: place.value(ofKey: timer.id))
        }
    }
}

extension ExpiringMap: UnorderedParts {
    private struct Entry: Encodable {
        let value: Value
        let deadline: LogTime?
    }

    func addParts(to list: PartList, at place: PartPlace) {
        for entry in sorted() {
            list.add(Entry(value: entry.value, deadline: entry.deadline), at: place.value(ofKey: entry.key))
        }
    }
}

extension IdentifiedList: UnorderedParts {
    func addParts(to list: PartList, at place: PartPlace) {
        var previous: ID?
        for element in self {
            let at = place.value(ofKey: element.id)
            list.add(element, at: at)
            // The order is said by who follows whom: an index would change for all elements after a new one.
            var order = at
            order.text += " follows"
            list.add(previous, at: order)
            previous = element.id
        }
    }
}

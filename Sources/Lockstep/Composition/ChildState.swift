/// Where a part lies in a whole: a property, an optional property, or the payload of an enum's case.
///
/// A part that may be missing is there as long as its property is not nil, or the case is the one.
public struct ChildState<Whole, Part>: Sendable {
    let find: @Sendable (Whole) -> Part?
    /// Changes the part where it lies; false if it is not there.
    let change: @Sendable (inout Whole, (inout Part) -> Void) -> Bool
    let mayBeMissing: Bool

    /// A property that is always there.
    public static func property(_ path: any WritableKeyPath<Whole, Part> & Sendable) -> ChildState {
        ChildState(
            find: { $0[keyPath: path] },
            change: { whole, body in
                body(&whole[keyPath: path])
                return true
            }, mayBeMissing: false)
    }

    /// A property that may be nil, such as an edit that is open or not.
    public static func optional(_ path: any WritableKeyPath<Whole, Part?> & Sendable) -> ChildState {
        ChildState(
            find: { $0[keyPath: path] },
            change: { whole, body in
                // Taken out while it is changed, so that a container in it is not shared.
                guard var part = whole[keyPath: path].take() else { return false }
                body(&part)
                whole[keyPath: path] = part
                return true
            }, mayBeMissing: true)
    }

    /// The payload of one case of an enum.
    ///
    /// A change copies the payload's containers, because the enum holds it meanwhile: keep what is large in a
    /// ``ReplicatedMap``, an ``IdentifiedList``, or outside of the enum.
    ///
    /// - Parameters:
    ///   - extract: The payload, or nil in another case.
    ///   - embed: The case with a payload.
    /// - Returns: The payload as a part that may be missing.
    public static func `case`(
        _ extract: @escaping @Sendable (Whole) -> Part?, embed: @escaping @Sendable (Part) -> Whole
    ) -> ChildState {
        ChildState(
            find: extract,
            change: { whole, body in
                guard var part = extract(whole) else { return false }
                body(&part)
                whole = embed(part)
                return true
            }, mayBeMissing: true)
    }

    /// A part of this part, such as the case of an enum that is a property.
    public func appending<Inner>(_ inner: ChildState<Part, Inner>) -> ChildState<Whole, Inner> {
        ChildState<Whole, Inner>(
            find: { whole in find(whole).flatMap(inner.find) },
            change: { whole, body in
                var isThere = false
                return change(&whole) { part in isThere = inner.change(&part, body) } && isThere
            }, mayBeMissing: true)
    }
}

/// Where the elements of a collection lie in a whole, each addressed by its id and never by its place.
public struct ChildElements<Whole, ID: Hashable & Comparable & Sendable, Element: Sendable>: Sendable {
    let find: @Sendable (Whole, ID) -> Element?
    let change: @Sendable (inout Whole, ID, (inout Element) -> Void) -> Bool
    /// In an order that is the same on every node.
    let all: @Sendable (Whole) -> [(ID, Element)]

    /// The elements of a list, in its order; a change costs O(log n).
    public static func list(
        _ path: any WritableKeyPath<Whole, IdentifiedList<Element>> & Sendable
    ) -> ChildElements where Element: Identifiable & Codable & Sendable, Element.ID == ID {
        ChildElements(
            find: { whole, id in whole[keyPath: path][id: id] },
            change: { whole, id, body in whole[keyPath: path].update(id, body) != nil },
            all: { whole in whole[keyPath: path].elements.map { ($0.id, $0) } })
    }

    /// The values of a map, in the order of the keys; a change costs O(log n).
    public static func map(
        _ path: any WritableKeyPath<Whole, ReplicatedMap<ID, Element>> & Sendable
    ) -> ChildElements where ID: ReplicatedKey, Element: Digestible {
        ChildElements(
            find: { whole, id in whole[keyPath: path][id] },
            change: { whole, id, body in
                guard var element = whole[keyPath: path].removeValue(forKey: id) else { return false }
                body(&element)
                whole[keyPath: path].updateValue(element, forKey: id)
                return true
            },
            all: { whole in whole[keyPath: path].sorted().map { ($0.key, $0.value) } })
    }
}

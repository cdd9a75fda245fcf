internal import Lockstep

/// How many states of a store may be kept, by how much memory each takes of its own.
package enum KeptStates {
    /// The most, of a state that is small or whose copies share what did not change.
    package static let most = 256
    /// Up to so many bytes of JSON, so many states; the first that fits counts.
    private static let steps = [(bytes: 256 << 10, states: most), (bytes: 4 << 20, states: 32)]
    /// Of a state above all steps.
    package static let fewest = 2

    /// How many states like this one may be kept.
    ///
    /// What is in a ``ReplicatedMap`` or an ``IdentifiedList`` is not counted. The rest is encoded up to the greatest
    /// step, to be measured: some tens of milliseconds at most.
    package static func count(of state: any Encodable) -> Int {
        for step in steps where !BoundedJSON(OwnParts(of: state), limit: step.bytes).isCut { return step.states }
        return fewest
    }
}

/// A container whose copies share what did not change.
private protocol SharedByCopies {}
extension ReplicatedMap: SharedByCopies {}
extension IdentifiedList: SharedByCopies {}

/// Encodes what copies of a value do not share.
private struct OwnParts: Encodable {
    private let value: any Encodable

    init(of value: any Encodable) { self.value = value }

    func encode(to encoder: any Encoder) throws {
        guard !(value is any SharedByCopies) else { return }
        let mirror = Mirror(reflecting: value)
        // What is no struct with fields is all its own. It encodes itself, also a map whose keys are texts: to be
        // measured it needs no order of its keys, and ends with the room. To sort them all would take a look at each.
        guard mirror.displayStyle == .struct, !mirror.children.isEmpty else { return try value.encode(to: encoder) }
        var container = encoder.unkeyedContainer()
        for child in mirror.children {
            guard let field = child.value as? any Encodable else { continue }
            try container.encode(OwnParts(of: field))
        }
    }
}

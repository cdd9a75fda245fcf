/// The driver's handle of one peer's connection to one socket of the node.
package struct Connection: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// The store of the node itself: frames go to its client machine without a socket.
    package static let local = Connection(rawValue: 0)
    package static func < (left: Connection, right: Connection) -> Bool { left.rawValue < right.rawValue }
}

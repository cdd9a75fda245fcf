/// What a busy machine may have done: a node without a processor for a second does it too, and so does a wrong node.
package struct Disturbed: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }

    /// Ends a try, unless this holds.
    package static func unless(_ holds: Bool, _ description: String) throws {
        guard holds else { throw Disturbed(description) }
    }
}

/// Tries something with nodes of its own, until it is not ``Disturbed``; the last try throws that, too.
///
/// A machine seldom does it again, and a wrong node does. It is `@concurrent` because of the compiler (decision 0033).
@concurrent package func undisturbed(tries: Int = 3, _ attempt: @concurrent () async throws -> Void) async throws {
    for _ in 1..<tries {
        do {
            return try await attempt()
        } catch let error as Disturbed {
            print("once more, with other nodes: \(error)")
        }
    }
    try await attempt()
}

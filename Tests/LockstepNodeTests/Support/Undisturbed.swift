/// A cluster did what it does on a machine that gives a node no processor for a second, and what a wrong node does.
struct Disturbed: Error, CustomStringConvertible {
    let description: String

    /// Ends a try, unless this holds.
    static func unless(_ holds: Bool, _ description: String) throws {
        guard holds else { throw Disturbed(description: description) }
    }
}

/// Tries something with a cluster of its own, up to three times, until it is not ``Disturbed``.
///
/// It is `@concurrent` because of the compiler (decision 0033).
@concurrent func undisturbed(_ attempt: @concurrent () async throws -> Void) async throws {
    for _ in 1...2 {
        // A machine seldom does it again, and a wrong node does.
        do { return try await attempt() } catch is Disturbed {}
    }
    try await attempt()
}

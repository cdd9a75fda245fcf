package import LockstepCore

/// Whether a primary must still wait for its replicas (PROTOCOL R-48): a second opinion, from what its journal notes, the
/// frames that come, and its clock.
///
/// It waits whether or not they run and can be reached.
package struct AudienceWatch {
    /// Those who have not said HELLO in this boot.
    private var missing: Set<String>
    /// Until when they are waited for; nil before the epoch is open, when nobody can be heard.
    private var end: Tick?

    private static let milliseconds: Int64 = 5_000

    /// Begins a boot with the names that the journal has; none of a volatile one, which waits for nobody.
    package init(_ names: [String]) { missing = Set(names) }

    package var awaited: [String] { missing.sorted() }

    /// The epoch is open; it may be said again.
    package mutating func opened(now: Tick) { end = end ?? now.advanced(byMilliseconds: Self.milliseconds) }

    /// HELLO comes.
    package mutating func heard(_ hello: Hello) {
        guard end != nil, hello.role == .replica else { return }
        missing.remove(hello.node)
    }

    package func isAwaiting(now: Tick) -> Bool {
        guard let end else { return false }
        return !missing.isEmpty && now < end
    }
}

extension Oracle {
    /// A primary has not heard its replicas yet, and has given the numbers up to `head`.
    func awaits(_ epoch: Epoch, head: SequenceNumber) { unheard = (epoch, head) }
}

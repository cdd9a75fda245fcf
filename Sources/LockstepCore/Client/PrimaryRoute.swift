/// Where a client looks for the primary: where it was told to begin, or where other nodes sent it (PROTOCOL, R-38).
///
/// A node that is not the primary names the one that it follows. The client goes there: at once the first time, later
/// after a back-off that doubles. It never goes where it came from, and not far: nodes that name each other are
/// replicas of nobody. What it was told is forgotten when it fails twice, for the primary may be back at its place.
struct PrimaryRoute: Hashable, Sendable {
    /// What a node's hint leads to.
    enum Step: Hashable, Sendable {
        /// Connect to ``PrimaryRoute/endpoint`` at once.
        case atOnce
        /// Connect to it after a back-off.
        case later
        /// It names none, or one that sent the client here: begin again at the beginning.
        case nowhere
    }

    private let home: String
    /// Where a node that is not the primary sent this client.
    private var redirect: String?
    /// The nodes that sent this client on since a node took it, so that it does not go in a circle.
    private var sentOnBy: [String] = []
    /// How often it was sent on since then.
    private var redirects = 0
    /// How many connections in a row have failed.
    private var failures = 0
    /// Milliseconds.
    private var backOff = ClientTiming.firstBackOff

    init(home: String) { self.home = home }

    var endpoint: String { redirect ?? home }

    /// A node took this client.
    mutating func arrived() {
        failures = 0
        redirects = 0
        sentOnBy = []
        backOff = ClientTiming.firstBackOff
    }

    /// The connection to ``endpoint`` failed.
    mutating func failed() {
        failures += 1
        if failures >= 2 { beginAgain() }
    }

    /// The node at ``endpoint`` is not the primary, and says that the primary is at `hint`.
    mutating func sentOn(to hint: String) -> Step {
        let here = endpoint
        guard !hint.isEmpty, hint != here, !sentOnBy.contains(hint), sentOnBy.count < ClientTiming.farthest else {
            beginAgain()
            return .nowhere
        }
        sentOnBy.append(here)
        redirect = hint == home ? nil : hint
        failures = 0
        redirects += 1
        return redirects > 1 ? .later : .atOnce
    }

    private mutating func beginAgain() {
        redirect = nil
        sentOnBy = []
    }

    /// Half to the whole of the back-off, in milliseconds; the next one is twice as long.
    mutating func nextDelay(_ generator: inout SplitMix64) -> Int64 {
        let half = backOff / 2
        let delay = half + Int64(generator.next(below: UInt64(half) + 1))
        backOff = min(backOff * 2, ClientTiming.slowestBackOff)
        return delay
    }

    func checkInvariants() {
        precondition(!sentOnBy.contains(endpoint), "a client does not go back to a node that sent it on")
        precondition(sentOnBy.count <= ClientTiming.farthest, "it does not go far")
    }
}

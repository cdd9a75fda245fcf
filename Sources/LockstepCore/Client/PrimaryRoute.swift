/// Where a client looks for the primary: where it was told to begin, or where other nodes sent it (PROTOCOL, R-38, R-91).
///
/// A node that is not the primary names the one that it follows, and the client goes there. It never goes where it was
/// already, and not far: nodes that name each other are replicas of nobody.
/// - Of one node: a hint is followed at once the first time, later after a back-off that doubles. It is forgotten when it
///   fails twice, for the primary may be back at its place.
/// - Of several nodes: whoever fails, refuses or knows no way is followed by the next one at once, in a round. Each node is
///   asked once in a round, whoever names it. Only after a round the client waits, with the same back-off.
struct PrimaryRoute: Hashable, Sendable {
    /// What a node's hint, or its failure, leads to.
    enum Step: Hashable, Sendable {
        /// Connect to ``PrimaryRoute/endpoint`` at once.
        case atOnce
        /// Connect to it after a back-off.
        case later
        /// It names none, or one that sent the client here: begin again at the beginning.
        case nowhere
    }

    /// Where it was told to look.
    let homes: [String]
    /// Which of them is asked, or was asked before the hint.
    private var place = 0
    /// Where a node that is not the primary sent this client, if that is none of ``homes``.
    private var redirect: String?
    /// The nodes that sent this client on since a node took it, so that it does not go in a circle; of several nodes all
    /// that were asked in this round.
    private var asked: [String] = []
    /// How often it was sent on since then.
    private var redirects = 0
    /// How many connections in a row have failed.
    private var failures = 0
    /// Rounds in a row that led to no primary.
    private var rounds = 0
    /// Of several nodes, how long one may take to say WELCOME, and how long it may owe an answer, in milliseconds.
    private(set) var patience = ClientTiming.patience
    /// Milliseconds.
    private var backOff = ClientTiming.firstBackOff

    init(homes: [String]) {
        precondition(!homes.isEmpty && Set(homes).count == homes.count, "a client looks somewhere, and there once")
        self.homes = homes
    }

    var endpoint: String { redirect ?? homes[place] }
    var isOfSeveral: Bool { homes.count > 1 }

    /// A node took this client; `took` is how long it took, in milliseconds.
    ///
    /// Of several nodes, one that takes no actions is no end of the search: it may send a request on.
    mutating func arrived(atPrimary: Bool, took: Int64) {
        if isOfSeveral {
            guard atPrimary else { return }
            patience = min(max(ClientTiming.patience, 2 * took), ClientTiming.attempt)
        }
        failures = 0
        redirects = 0
        rounds = 0
        asked = []
        backOff = ClientTiming.firstBackOff
    }

    /// The connection to ``endpoint`` failed, or the node there is of no use.
    mutating func failed() -> Step {
        guard !isOfSeveral else { return passOn() }
        failures += 1
        if failures >= 2 { beginAgain() }
        return .later
    }

    /// The node at ``endpoint`` is not the primary, and says that the primary is at `hint`.
    mutating func sentOn(to hint: String) -> Step {
        let here = endpoint
        let isFar = (isOfSeveral ? redirects : asked.count) >= ClientTiming.farthest
        guard !hint.isEmpty, hint != here, !asked.contains(hint), !isFar else {
            guard !isOfSeveral else { return passOn() }
            beginAgain()
            return .nowhere
        }
        asked.append(here)
        if let home = homes.firstIndex(of: hint) { (place, redirect) = (home, nil) } else { redirect = hint }
        failures = 0
        redirects += 1
        return redirects > 1 && !isOfSeveral ? .later : .atOnce
    }

    /// Goes to the next of several nodes that was not asked in this round, or ends the round.
    private mutating func passOn() -> Step {
        asked.append(endpoint)
        redirect = nil
        let left = homes.indices.map { (place + $0) % homes.count }.first { !asked.contains(homes[$0]) }
        guard let left else {
            asked = []
            redirects = 0
            place = (place + 1) % homes.count
            rounds += 1
            // A way may be longer than the patience, which is for those who are near.
            if rounds.isMultiple(of: ClientTiming.quickRounds) { patience = min(2 * patience, ClientTiming.attempt) }
            return .later
        }
        place = left
        return .atOnce
    }

    private mutating func beginAgain() {
        redirect = nil
        asked = []
    }

    /// Whether the round ends with the node at ``endpoint``.
    var isLast: Bool { homes.allSatisfy { $0 == endpoint || asked.contains($0) } }

    /// Half to the whole of the back-off, in milliseconds; the next one is twice as long.
    mutating func nextDelay(_ generator: inout SplitMix64) -> Int64 {
        let half = backOff / 2
        let delay = half + Int64(generator.next(below: UInt64(half) + 1))
        backOff = min(backOff * 2, ClientTiming.slowestBackOff)
        return delay
    }

    func checkInvariants() {
        precondition(!asked.contains(endpoint), "a client does not go back to a node that sent it on")
        precondition(
            asked.count <= (isOfSeveral ? homes.count : 0) + ClientTiming.farthest, "it does not go far")
    }
}

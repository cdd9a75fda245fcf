/// What a client's machine is told once, when it is made.
package struct ClientConfiguration: Hashable, Sendable {
    package var store: String
    package var node: String
    package var role: PeerRole
    package var client: ClientKey
    package var boot: BootID
    package var incarnation: Incarnation
    /// `nil`: the cluster of the first WELCOME is taken for the life of the machine (PROTOCOL, R-1).
    package var cluster: ClusterID?
    /// Where it begins to look for the primary.
    package var endpoint: String
    /// The other nodes that it knows, which it asks after that one; it asks none again before all were asked.
    package var others: [String]
    /// Microseconds of silence after which the primary ends the session.
    package var timeToLive: Int64
    package var windowNumbers: UInt32
    package var windowBytes: UInt32
    package var seed: UInt64
    /// Without a session only reads, queries and HELLO are served: what a replica without submitters needs.
    package var wantsSession: Bool
    /// Off but in the simulator.
    package var buggify: Buggify

    package init(
        store: String, node: String, role: PeerRole, client: ClientKey, boot: BootID, incarnation: Incarnation,
        cluster: ClusterID?, endpoint: String, others: [String] = [], timeToLive: Int64 = 60_000_000,
        windowNumbers: UInt32 = Limits.windowNumbers, windowBytes: UInt32 = 1 << 20, seed: UInt64,
        wantsSession: Bool, buggify: Buggify = .off
    ) {
        precondition(timeToLive > 0, "a session without time to live would end at once")
        precondition(windowNumbers >= Limits.submitActions, "the largest chunk must fit the session's window")
        self.store = store
        self.node = node
        self.role = role
        self.client = client
        self.boot = boot
        self.incarnation = incarnation
        self.cluster = cluster
        self.endpoint = endpoint
        self.others = others
        self.timeToLive = timeToLive
        self.windowNumbers = windowNumbers
        self.windowBytes = windowBytes
        self.seed = seed
        self.wantsSession = wantsSession
        self.buggify = buggify
    }
}

/// How long a client waits for what, in milliseconds.
enum ClientTiming {
    /// HELLO is repeated at first this often, each time later, up to the second value: it, or its answer, may be lost.
    static let firstHello: Int64 = 100
    static let slowestHello: Int64 = 500
    /// A connection without WELCOME for this long is made anew.
    static let attempt: Int64 = 3_000
    /// HELLO is sent when nothing was heard for this long, then every ``slowestHello``.
    static let ping: Int64 = 1_000
    /// A connection on which nothing was heard for this long is made anew: two pings at least were not answered.
    static let silence: Int64 = 2_500
    /// Nothing was answered for this long: what was sent is sent again.
    ///
    /// A commit takes longer only on a sick disk.
    static let progress: Int64 = 1_500
    /// Of several nodes: HELLO is repeated at first this often, since the client has no time to lose.
    static let quickHello: Int64 = 20
    /// Of several nodes: one that owes an answer for so long is asked by HELLO whether it is there.
    static let doubt: Int64 = 250
    /// Of several nodes: one that does not answer HELLO for so long is given up for the next; longer where the way is.
    static let patience: Int64 = 500
    /// After so many rounds without a primary the patience is doubled.
    static let quickRounds = 4
    /// Of several nodes: one that refuses keeps the connection for so long.
    static let quickRefusal: Int64 = 50
    static let firstBackOff: Int64 = 50
    static let slowestBackOff: Int64 = 1_000
    /// After a refusal.
    static let refusal: Int64 = 1_000
    /// So many nodes may send a client on, one to the next, before it begins again.
    static let farthest = 4
    /// So many boots of one connection are remembered.
    static let rememberedBoots = 4
    /// OPEN, RESUME, READ and QUERY are repeated this often.
    static let request: Int64 = 500
    /// WATCH is repeated after this time, each time later, up to the second value.
    static let firstWatch: Int64 = 500
    static let slowestWatch: Int64 = 5_000
    /// Answers that no SUBMIT acknowledges are acknowledged after this time.
    static let acknowledgement: Int64 = 500
    /// Of a client that is slow on purpose.
    static let lateAcknowledgement: Int64 = 2_000
    /// RUN_REQUEST is repeated this often while an end is awaited or not acknowledged for certain.
    static let runAsk: Int64 = 1_000
    /// So many ends are acknowledged at once.
    static let waitingRunEnds = 256
    /// How long a primary may say that it does not know the session before the session counts as lost.
    static let unknown: Int64 = 10_000
    /// So often SESSION_MOVED is followed by RESUME before an answer comes; then the session is another's.
    static let moves = 5
    static let closing: Int64 = 1_000
    static let closeRepeat: Int64 = 200
    /// The longest wait that a BUSY can ask for.
    static let longestBusy: Int64 = 5_000
    /// What a client that is slow on purpose adds.
    static let addedBusy: Int64 = 50
    /// Small chunks wait for each other while this many frames are unanswered, up to ``heldBytes``.
    ///
    /// Measured: holding at 2 frames costs a fifth with 64 submitters, at 4 it gains a tenth with thousands.
    static let heldFrames = 4
    static let heldBytes = 16 << 10
}

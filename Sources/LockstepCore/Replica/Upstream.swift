/// Whom a replica follows: the cluster, the store's channel, and the publisher that the last WELCOME named.
///
/// It decides what a WELCOME means: the same publisher, another boot, another memory, or a history below one
/// that was seen. It also remembers what is doubted: the publisher's history at most once a second, and the
/// bulk socket when plans do not come.
struct Upstream: Hashable, Sendable {
    /// A boot of the primary, and where it publishes.
    struct Publisher: Hashable, Sendable {
        var boot: BootID
        var incarnation: Incarnation
        var isVolatile: Bool
        /// Each boot has one epoch, and it commits its `epochOpen` before it says WELCOME.
        var epoch: Epoch
        var publishEndpoint: String
        var bulkEndpoint: String

        init(_ welcome: Welcome) {
            boot = welcome.boot
            incarnation = welcome.incarnation
            isVolatile = welcome.isVolatile
            epoch = welcome.commit.epoch
            publishEndpoint = welcome.publishEndpoint
            bulkEndpoint = welcome.bulkEndpoint
        }
    }

    /// What a WELCOME says about the publisher that was known before.
    enum Change: Hashable, Sendable {
        /// It is the same, at the same endpoints.
        case none
        /// It is the same boot at other endpoints.
        case moved
        /// Another boot publishes, or this is the first; what an earlier one has sent need not be of its history.
        case anotherBoot
        /// A volatile primary began anew: what belonged to the one before belongs to nobody.
        case anotherMemory
        /// Its epoch is below one that was seen: it is not followed.
        case backwards
    }

    /// The configured cluster, or that of the first WELCOME.
    private(set) var cluster: ClusterID?
    /// Of the own journal, and since a WELCOME the primary's; it stays when the link to the primary is lost.
    private(set) var channel: Channel?
    /// Whom the last WELCOME named.
    private(set) var publisher: Publisher?
    /// Where that WELCOME came from, or where the node knows the primary to be; empty before.
    private(set) var primaryEndpoint = ""
    /// Of the log and of every WELCOME: a primary below is not followed.
    private(set) var highestEpoch: Epoch
    /// It lacks what this replica has, and is asked whether it has at least what was told.
    private(set) var isAskedFromTold = false
    /// The alarm for this position was raised.
    private var alarmedAhead: KnownPosition?
    private var nextDoubt: Tick = .zero
    /// How many plans in a row did not come.
    private var missedPlans = 0

    init(cluster: ClusterID?, channel: Channel?, highestEpoch: Epoch) {
        self.cluster = cluster
        self.channel = channel
        self.highestEpoch = highestEpoch
    }

    // MARK: - WELCOME

    /// Whether a WELCOME is a primary's, and of this cluster and store, if they are known.
    func accepts(_ welcome: Welcome, of name: String, _ store: StoreID) -> Bool {
        welcome.role == .primary && (cluster == nil || cluster == welcome.cluster)
            && welcome.store == StoreID(cluster: welcome.cluster, name: name)
            && (store == .none || store == welcome.store) && !welcome.publishEndpoint.isEmpty
            && !welcome.bulkEndpoint.isEmpty && welcome.channel != .none && welcome.commit.epoch > .zero
    }

    /// Takes over what a WELCOME that was accepted tells of the store and of its publisher.
    mutating func welcomed(_ welcome: Welcome, at endpoint: String) -> Change {
        let new = Publisher(welcome)
        let previous = publisher
        if previous?.boot != new.boot { isAskedFromTold = false }
        cluster = welcome.cluster
        channel = welcome.channel
        primaryEndpoint = endpoint
        publisher = new
        // A durable primary, or one that this process never met before, is no reason to throw anything away: then the
        // plan says AHEAD or DIVERGED, and an operator decides.
        if let previous, previous.isVolatile, new.isVolatile, previous.incarnation != new.incarnation {
            forgetEpochs()
            reached(new.epoch)
            return .anotherMemory
        }
        guard new.epoch >= highestEpoch else { return .backwards }
        reached(new.epoch)
        guard previous != new else { return .none }
        return previous?.boot != new.boot || previous?.epoch != new.epoch ? .anotherBoot : .moved
    }

    /// An entry of this epoch was applied, or is in a snapshot that was put in place.
    mutating func reached(_ epoch: Epoch) { highestEpoch = max(highestEpoch, epoch) }

    /// The history that was seen is given up.
    mutating func forgetEpochs() { highestEpoch = .zero }

    /// The node knows better than any WELCOME where the primary is, or will be.
    mutating func sendsOn(to endpoint: String) { primaryEndpoint = endpoint }

    // MARK: - Frames

    var clusterRule: FrameHeader.ClusterRule { cluster.map { .member($0.hash) } ?? .any }

    func stamp(epoch: Epoch) -> FrameStamp {
        FrameStamp(channel: channel ?? .none, clusterHash: cluster?.hash ?? 0, epoch: epoch)
    }

    /// A new subscription to the stream.
    var subscription: ReplicaDirective {
        guard let publisher, let channel else { preconditionFailure("no stream is known before a WELCOME") }
        return .subscribe(endpoint: publisher.publishEndpoint, channel: channel)
    }

    /// A new bulk socket.
    var bulkConnection: ReplicaDirective {
        guard let publisher else { preconditionFailure("no bulk link is known before a WELCOME") }
        return .connectBulk(endpoint: publisher.bulkEndpoint)
    }

    // MARK: - Doubts

    /// Whether the publisher's history may be doubted again.
    func mayBeDoubted(at now: Tick) -> Bool { now >= nextDoubt }

    /// Its history is doubted: it is asked by SYNC.
    mutating func doubted(at now: Tick) { nextDoubt = now.advanced(byMilliseconds: ReplicaTiming.doubt) }

    /// A plan did not come; whether it is the bulk socket's turn to be doubted, as every third time.
    mutating func planIsMissed() -> Bool {
        missedPlans += 1
        return missedPlans.isMultiple(of: 3)
    }

    /// The publisher was heard, or another one is asked: its sockets are trusted again.
    mutating func trustSockets() { missedPlans = 0 }

    /// It does not have what this replica has: whether it may be asked with less, which it is once.
    mutating func mayAskFromTold() -> Bool {
        isAskedFromTold.toggle()
        return isAskedFromTold
    }

    /// It has what was told, and what it lacks is given up: it is followed, whatever epochs were seen.
    mutating func endIsGivenUp() {
        isAskedFromTold = false
        forgetEpochs()
        if let publisher { reached(publisher.epoch) }
    }

    /// The publisher does not have this replica's history; whether that is news, and worth an alarm.
    mutating func isAhead(of primary: KnownPosition) -> Bool {
        defer { alarmedAhead = primary }
        return alarmedAhead != primary
    }

    /// The publisher has this replica's history: the next time that it does not is news.
    mutating func isFollowed() { alarmedAhead = nil }

    func checkInvariants() {
        precondition(publisher == nil || (cluster != nil && channel != nil), "a publisher is of a cluster and a store")
    }
}

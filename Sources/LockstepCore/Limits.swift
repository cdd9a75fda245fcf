/// Every bound of the protocol, with its reason; the relations between them are checked by ``check()``.
package enum Limits {
    /// The largest message that a socket takes: the largest entry, a full batch beside it, and room for headers.
    package static let messageBytes = (1 << 20) + (128 << 10)
    /// The largest action, and the largest sum of the mutations and the reply of one: 1 MiB.
    package static let actionBytes = 1 << 20
    /// A batch is closed by the entry with which it reaches this size, so entries below 16 KiB stay under
    /// ``broadcastBytes``.
    package static let batchFullBytes = 48 << 10
    /// A larger batch is published as its head only, and fetched.
    package static let broadcastBytes = 64 << 10
    /// What a primary keeps in memory for repair, about 3 million small entries.
    package static let resendWindowBytes = 64 << 20
    /// What a replica keeps of the stream while it joins.
    package static let joinBufferBytes = 64 << 20
    /// What may wait for its commit, in bytes, before new actions get BUSY: two commits of traffic and more.
    package static let unpersistedBytes = 32 << 20
    /// What one connection may have in flight, by default: two commits of traffic.
    package static let creditActions = 65_536
    package static let creditBytes = 4 << 20
    /// The largest window of a session.
    package static let windowNumbers: UInt32 = 131_072
    package static let windowBytes: UInt32 = 4 << 20
    package static let smallestWindowBytes: UInt32 = 16 << 10
    /// What all windows of a store may have together above their smallest size.
    package static let windowBudgetBytes = 256 << 20
    package static let sessions = 16_384
    /// What the kept replies of all sessions may have before every action gets BUSY: all windows.
    package static let keptBytes = windowBudgetBytes + sessions * Int(smallestWindowBytes)
    /// Actions in one SUBMIT.
    package static let submitActions = 16_384
    /// A RESULT, and a SUBMIT that a client makes, is closed when it reaches this size.
    package static let frameTargetBytes = 64 << 10
    /// A SUBMIT that a client makes has at most so many actions, since a node performs a frame in one piece and says no
    /// heartbeat meanwhile.
    package static let frameTargetActions = 4_096
    package static let chunkBytes = 256 << 10
    /// Chunks that a joiner has in flight: 4 MiB.
    package static let chunkWindow: UInt32 = 16
    /// Joins that are served at a time; more get BUSY.
    package static let concurrentJoins = 4
    /// Joiners that are remembered as waiting for a place, and as many that had one and did not fetch.
    package static let waitingJoins = 1_024
    /// Reads that wait at a node; more are answered `unavailable`.
    package static let waitingReads = 10_000
    /// Queries that are watched at a node's store, and by one connection.
    package static let watches = 10_000
    package static let watchesOfConnection = 1_024
    /// What their queries may have together.
    package static let watchBytes = 16 << 20
    package static let watchBytesOfConnection = 4 << 20
    /// Bytes of answers that are pushed to a connection after its last WATCH; then it has to say it again.
    package static let watchAnswerBytes = 8 << 20
    /// After so many a client says it.
    package static let watchAnswerBytesUnsaid = 2 << 20
    /// Answers other than RESULT that wait for a commit; a further one is dropped, and its asker repeats itself.
    package static let waitingAnswers = 65_536
    /// Connections that a node knows; a further HELLO is refused.
    package static let connections = 65_536
    /// Replicas that a primary waits for when it starts.
    package static let audience = 64
    /// Connections that get the broadcast: one for each store of as many replicas as there can be sessions.
    package static let subscriptions = 16_384
    /// How many of them one address may have.
    package static let subscriptionsOfAddress = 4_096
    /// The largest message that the broadcast port takes: subscriptions have 5 bytes, handshakes some hundred.
    package static let subscriptionMessageBytes = 1_024
    /// Accepted actions of a session that have not ended; a further one is rejected.
    ///
    /// As many may have ended and wait for their acknowledgement; then a further one gets BUSY.
    package static let runsOfSession = 1_024
    /// Accepted actions of a store, ended or not; a further one gets BUSY.
    package static let runs = 100_000
    /// What the actions and the ends of a store's runs may have of memory before a further action gets BUSY.
    package static let runBytes = 256 << 20
    /// Wishes in one RUN_REQUEST.
    package static let runWishes = 1_024
    /// So many acknowledged ends are logged at once; fewer wait for the second to end.
    package static let waitingRunAcks = 256
    /// Policies that an effect can have; an action with more is rejected.
    package static let policiesOfRun = 16
    /// The name of a group, or one to cancel under, of an effect; an action with a longer one is rejected.
    package static let effectNameBytes = 256
    /// Mutations that log time brings in one entry.
    package static let dueMutations = 1_000
    /// Members of an in-sync set: each has every batch before it is committed.
    package static let inSyncMembers = 16
    /// Standbys that a primary has streams with: every member, and as many learners and leftovers.
    package static let streams = 64
    /// What one of them is sent before it has acknowledged something of it.
    package static let streamBytes = 16 << 20
    /// The newest ends of epochs that a FETCH, a RECORD and a DIVERGED name, so that they fit a message.
    package static let epochEndsInFetch = 16_384
    package static let nameBytes = 64
    package static let textBytes = 1_024

    /// The relations that the bounds rely on; a node checks them when it starts.
    package static func check() {
        precondition(actionBytes + batchFullBytes + 4_096 <= messageBytes, "the largest batch must fit a message")
        precondition(chunkBytes + 4_096 <= messageBytes, "a chunk must fit a message")
        precondition(creditActions <= Int(windowNumbers), "the credit must fit a session's window")
        precondition(batchFullBytes < broadcastBytes, "a batch of small entries must fit the broadcast")
        precondition(
            watchAnswerBytesUnsaid + actionBytes < watchAnswerBytes, "a client says WATCH before it is waited for")
        precondition(joinBufferBytes >= 2 * unpersistedBytes, "a joiner must hold more than one commit")
    }
}

/// Unusual but correct behaviour, switched on in the simulator only: tiny batches, queues of one, early snapshots, refusals
/// without need.
///
/// Bounds and delays that production reaches once a year are reached here in every run, so that what lies past them is
/// tested. Whatever a site does, the protocol allows; a site that refuses or delays only delays, since it fires one time
/// in four that it is reached. No site changes what the log means: only the primary chooses what it logs.
///
/// A machine takes a copy from its configuration and asks it with `if buggify(.tinyBatch)`. The answers are a function of
/// the seed and of the order of the questions. When it is off, a question costs one load and one test.
package struct Buggify: Hashable, Sendable {
    /// A bit for each site that is on.
    private var sites: UInt64
    /// A site that is on fires one time in so many.
    private var odds: UInt64
    private var generator: SplitMix64
    /// A bit for each site that has fired, at ``Site/bit``.
    package private(set) var fired: UInt64 = 0

    /// Nothing unusual: what production runs with.
    package static let off = Buggify(seed: 0, sites: [])

    /// Switches each site on with probability 1/4, drawn from `seed`.
    package init(seed: UInt64) {
        var generator = SplitMix64(seed: seed)
        sites = Site.allCases.reduce(0) { generator.next(below: 4) == 0 ? $0 | $1.bit : $0 }
        odds = 4
        self.generator = generator
    }

    /// Switches exactly these sites on; each fires one time in `odds`, which is above 0.
    package init(seed: UInt64, sites: Set<Site>, oneIn odds: UInt64 = 4) {
        precondition(odds > 0, "a site that is on fires at times")
        self.sites = sites.reduce(0) { $0 | $1.bit }
        self.odds = odds
        generator = SplitMix64(seed: seed)
    }

    /// Whether the site fires this time.
    @inline(__always)
    package mutating func callAsFunction(_ site: Site) -> Bool {
        guard sites != 0 else { return false }
        return decide(site)
    }

    /// Ends all of it; what has fired stays known.
    package mutating func end() { sites = 0 }

    /// Whether any site is on.
    package var isOn: Bool { sites != 0 }
    package func isOn(_ site: Site) -> Bool { sites & site.bit != 0 }
    package var firedSites: [Site] { Site.allCases.filter { fired & $0.bit != 0 } }

    @inline(never)
    private mutating func decide(_ site: Site) -> Bool {
        guard sites & site.bit != 0, generator.next(below: odds) == 0 else { return false }
        fired |= site.bit
        return true
    }
}

extension Buggify {
    /// A place in a machine that can behave unusually; at most 64.
    package enum Site: UInt8, CaseIterable, Hashable, Sendable {
        // The primary.

        /// A batch is full at 256 bytes instead of 48 KiB.
        case tinyBatch
        /// A batch is sealed after each SUBMIT, although the journal is busy.
        case batchOfOneSubmit
        /// A mark ends a batch, although none is due.
        case extraMark
        /// A snapshot is taken, although nobody asked for one, as soon as something was written since the last mark.
        case earlySnapshot
        /// A small batch is broadcast as its head only, so that replicas fetch it.
        case headOnly
        /// What is sequenced waits for 2 ms, although the journal is free.
        case lateHandOver
        /// What may wait for the journal is 4 KiB instead of 32 MiB.
        case tinyUnpersisted
        /// SUBMIT gets BUSY, although there is room.
        case busyWithoutCause
        /// OPENED grants a window of one number.
        case smallWindowNumbers
        /// OPENED grants the smallest window of bytes.
        case smallWindowBytes
        /// WELCOME grants a credit of one action and one byte: a chunk at a time.
        case creditOfOne
        /// OPEN is refused, although there is room; the client asks again.
        case refusesOpen
        /// HELLO is refused as unavailable; the peer asks again. A replica that is listening does so, too.
        case refusesHello
        /// A connection is forgotten, and its frame gets RESYNC.
        case forgetsPeer
        /// An answer that waited for its commit is not sent; whoever waits for it asks again.
        case losesAnswer
        /// The sweep of every second, with expiry and acknowledgements, is left out once.
        case skipsSweep
        /// A beacon is left out.
        case skipsBeacon
        /// The window for repairs shrinks to 4 KiB, on primaries and replicas.
        case shrinksWindow
        /// A view that is due is not taken now, on primaries and replicas.
        case lateView
        /// A view is taken, although none is due.
        case earlyView
        /// A read is answered `unavailable`, on primaries and replicas; the reader asks again.
        case refusesRead
        /// A read that could be answered at once waits for the next view.
        case queuesRead
        /// An emission is answered busy, although there is room; its executor brings it again.
        case busyEmission
        /// The end of an effect is answered busy, although there is room; its executor brings it again.
        case busyRunEnd
        /// A run that may begin waits for the next tick or commit.
        case lateRun
        /// RUN_ENDED is not pushed; the sender asks for it.
        case keepsEnd
        /// The ends that senders have are left out of one sweep.
        case skipsEndAcknowledgement
        /// A session may have one run; an action that would be the next gets BUSY.
        case fewRuns

        // Serving joins, on primaries and replicas.

        /// The snapshot is served in chunks of 1 KiB instead of 256 KiB.
        case tinyChunks
        /// A joiner gets BUSY, although there is a place for it.
        case busyJoin
        /// A joiner gets a snapshot, although the window holds its tail.
        case snapshotInsteadOfTail
        /// One join is served at a time instead of four.
        case oneJoin
        /// A reservation ends 100 ms after its last request instead of 30 s.
        case shortLease
        /// One chunk leaves at a time; the others wait for the next tick.
        case oneChunkATime
        /// A REPAIR holds one batch.
        case oneBatchRepair
        /// A repair is said to be unavailable, although the batches are held; the replica sends SYNC.
        case repairUnavailable

        // The replica.

        /// The buffer of the stream holds 2 KiB instead of 64 MiB.
        case tinyJoinBuffer
        /// A hole is repaired without delay.
        case repairAtOnce
        /// A hole is repaired up to half a second late.
        case repairLate
        /// One batch of the buffer is applied in an event.
        case drainOne
        /// One chunk of a snapshot is in flight.
        case oneChunkWindow
        /// The stream counts as silent 50 ms after its last frame, at a tick: a new subscription.
        case resubscribes
        /// The first hole begins pulling.
        case pullsEarly
        /// A replica with a journal takes a snapshot at a mark, although none is due.
        case snapshotAtMark
        /// A beacon raises a doubt without cause: SYNC.
        case doubtsBeacon

        // The client.

        /// A SUBMIT holds one action.
        case oneActionFrame
        /// What is sent and unanswered is sent again, without cause.
        case submitsAgain
        /// An answer is acknowledged by KEEPALIVE at once.
        case keepAliveAtOnce
        /// An answer is acknowledged by KEEPALIVE after 2 s instead of 500 ms.
        case keepAliveLate
        /// HELLO is sent, although the peer was just heard.
        case helloInTheMiddle
        /// The connection is made anew when a HELLO or a KEEPALIVE is due.
        case reconnects
        /// OPEN, RESUME or CLOSE is sent twice.
        case asksTwice
        /// A read is sent twice.
        case readsTwice
        /// No small chunk is held back.
        case holdsNothing
        /// Small chunks are held back while a single frame is unanswered.
        case holdsAfterOne
        /// BUSY is obeyed 50 ms longer than asked for.
        case waitsLonger
        /// The end of an accepted action is asked for at once, instead of after 1 s.
        case asksForEndAtOnce
        /// An end is acknowledged at once, instead of after 500 ms.
        case acknowledgesEndAtOnce

        /// The site's bit in ``Buggify/fired``.
        package var bit: UInt64 { 1 << UInt64(rawValue) }
    }
}

extension Buggify {
    /// The bounds for a request of the bulk link.
    mutating func bounds(for request: BulkRequest) -> JoinServer.Bounds {
        guard isOn else { return .usual }
        var bounds = JoinServer.Bounds.usual
        switch request {
        case .sync:
            bounds.isBusy = self(.busyJoin)
            bounds.prefersSnapshot = self(.snapshotInsteadOfTail)
            if self(.oneJoin) { bounds.joins = 1 }
            if self(.shortLease) { bounds.leaseMilliseconds = 100 }
        case .chunkRequest:
            if self(.shortLease) { bounds.leaseMilliseconds = 100 }
            if self(.oneChunkATime) { bounds.chunksAtOnce = 1 }
        case .repairRequest:
            if self(.oneBatchRepair) { bounds.repairBytes = 1 }
            bounds.isRepairUnavailable = self(.repairUnavailable)
        }
        return bounds
    }
}

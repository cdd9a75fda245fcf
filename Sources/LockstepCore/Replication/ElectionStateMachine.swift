/// How a standby becomes primary when its primary is silent (PROTOCOL, R-80 to R-82).
///
///     following ---silence---> asking ---the record says so---> promising ---durable---> campaigning ---applied---> won
///         ^                       |                                                          |
///         +-----------------------+----another record, a heartbeat, a refusal----------------+
///
/// - In `asking` it reads the record; only an arbiter that answered lets it go on, and only who is in the set may.
/// - From `promising` on it acknowledges nothing of the old epoch, and its log does not grow.
/// - In `campaigning` the same transaction is asked until it is settled, whatever else is heard: it may have been
///   applied. Its epoch is opened only if the answer belongs to this life of the process.
///
/// Invariants: ``promised`` never falls but by ``withdraw``, and is above the epoch of the record that was compared;
/// an attempt is there exactly while campaigning.
package struct ElectionStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        case following, asking, promising, campaigning, won
    }

    package enum Directive: Hashable, Sendable {
        /// Read the record linearizably, and ask the nodes that are known for the newest that they know.
        case readRecord(request: UInt64)
        /// Acknowledge nothing of a lower epoch any more, and store this durably; then ``promiseStored``.
        case promise(Epoch)
        /// Compare and set; each time it is a new asking of the same.
        case transact(RecordAttempt, request: UInt64)
        /// The promise is not needed any more: the record that settled the attempt.
        case withdrawPromise(StoredRecord)
        /// The node is the primary of this record's epoch: append `epochOpen`.
        case open(StoredRecord)
        /// Follow the primary that this record names.
        case follow(StoredRecord)
        /// The arbiter shows less than it once did: an operator has to say `rebind`.
        case regressed(StoredRecord)
    }

    package struct Configuration: Hashable, Sendable {
        package var candidate: ConfigurationRecord.Primary
        /// How long the primary may be silent; its own rank's share comes on top.
        package var graceMilliseconds: Int64 = 1_000
        /// Up to so much more, drawn anew each time.
        package var jitterMilliseconds: Int64 = 300
        /// How long who has followed nobody waits for another member's word, from when the arbiter has shown it the record.
        package var informMilliseconds: Int64 = 3_000
        /// How often the record is read, or the transaction asked again, without an answer.
        package var retryMilliseconds: Int64 = 200

        package init(candidate: ConfigurationRecord.Primary) { self.candidate = candidate }
    }

    /// What other nodes have told since this one began to ask.
    package struct Told: Hashable, Sendable {
        /// What the arbiter has shown each.
        package var shown: [NodeID: ArbiterMemory] = [:]
        /// Those whose log goes further than this node's.
        package var further: Set<NodeID> = []
        /// Those who have nothing.
        package var empty: Set<NodeID> = []

        package init(shown: [NodeID: ArbiterMemory] = [:], further: Set<NodeID> = [], empty: Set<NodeID> = []) {
            (self.shown, self.further, self.empty) = (shown, further, empty)
        }
    }

    private struct Offer: Hashable, Sendable {
        /// From then on the primary that is heard keeps its post.
        var ends: Tick
        /// It stays in the set.
        var staysMember: Bool
    }

    package let configuration: Configuration
    package private(set) var phase = Phase.following
    /// The highest epoch that this node has promised to, or has campaigned for.
    package private(set) var promised: Epoch
    package private(set) var memory: ArbiterMemory
    package private(set) var attempt: RecordAttempt?
    /// The newest reign whose primary was given its time to be heard.
    private var awaited = Epoch.zero
    /// The primary has offered its post, and is heard meanwhile.
    private var offer: Offer?
    /// Its place among the candidates, as the newest record has them.
    private var rank = 0
    private var random: SplitMix64
    /// When the silence has lasted too long, or something is to be asked again.
    package private(set) var nextDeadline: Tick
    /// When it began, or a primary was heard last; and when the arbiter showed it a record first since then.
    private var lastHeard: Tick
    private var firstShown: Tick?
    /// Of its own log, which does not grow while a campaign is under way.
    private var end = Position(epoch: .zero, sequence: .zero, hash: .none)

    /// Begins as a follower that has heard nobody yet.
    ///
    /// `promised` and `memory` are what the journal has; `promised` is at least the highest epoch in the log.
    package init(
        _ configuration: Configuration, promised: Epoch, memory: ArbiterMemory, seed: UInt64, now: Tick
    ) {
        (self.configuration, self.promised, self.memory) = (configuration, promised, memory)
        random = SplitMix64(seed: seed)
        (nextDeadline, lastHeard) = (.never, now)
        wait(now: now)
    }

    private mutating func wait(now: Tick) {
        let jitter = Int64(random.next() % UInt64(configuration.jitterMilliseconds + 1))
        nextDeadline = now.advanced(byMilliseconds: configuration.graceMilliseconds + jitter + turn)
    }

    /// How many milliseconds it lets the candidates before it have, so that they do not all ask at once.
    private var turn: Int64 { 50 * Int64(rank) }

    // MARK: - Events

    /// The primary is known to be gone: its silence is not waited for, only the candidates before this one.
    package mutating func hurry(now: Tick) {
        if phase == .following { nextDeadline = min(nextDeadline, now.advanced(byMilliseconds: turn)) }
    }

    /// The primary gives its post to this node, which asks at once; heartbeats do not end that for as long as the
    /// primary waits.
    package mutating func takeOver(staysMember: Bool, now: Tick) {
        guard phase == .following else { return }
        offer = Offer(
            ends: now.advanced(byMilliseconds: Handover.memberMilliseconds), staysMember: staysMember)
        nextDeadline = min(nextDeadline, now)
    }

    /// Numbers a reading of the record that is not the election's own.
    package mutating func askRecord() -> UInt64 { memory.ask() }

    /// Whether the reign that is followed may still be served: nothing of it was given up.
    package var isLoyal: Bool { phase == .following || phase == .asking }

    /// A heartbeat, or anything else, of a primary of `epoch` came; true if it is to be followed.
    ///
    /// One of a lower epoch than was promised is not heard: who promised has given that reign up.
    package mutating func heard(epoch: Epoch, now: Tick, into directives: inout [Directive]) -> Bool {
        // A frame of an epoch that no record can have is no primary's.
        guard epoch >= promised, epoch.rawValue < UInt64(Int64.max) else { return false }
        switch phase {
        case .following, .asking:
            (lastHeard, firstShown) = (now, nil)
            if let offer, now < offer.ends, epoch == promised { return true }
            (phase, promised, offer) = (.following, epoch, nil)
            wait(now: now)
        case .promising:
            // Nothing was asked yet, so there is nothing to settle.
            guard epoch > promised else { return false }
            (phase, promised, attempt) = (.following, epoch, nil)
            wait(now: now)
        case .campaigning:
            // A reign that was won settles nothing by itself: the record does.
            if epoch > promised { directives.append(.readRecord(request: memory.ask())) }
            return false
        case .won: return false
        }
        return true
    }

    /// Time has passed.
    package mutating func tick(now: Tick, into directives: inout [Directive]) {
        guard now >= nextDeadline else { return }
        nextDeadline = now.advanced(byMilliseconds: configuration.retryMilliseconds)
        switch phase {
        case .following, .asking:
            phase = .asking
            directives.append(.readRecord(request: memory.ask()))
        case .promising: directives.append(.promise(promised))
        case .campaigning:
            if let attempt { directives.append(.transact(attempt, request: memory.ask())) }
        case .won: nextDeadline = .never
        }
    }

    /// The arbiter has answered a reading with this record, linearizably; `request` is what the directive had.
    ///
    /// `end` is the end of this node's log; `known` is the highest epoch that any node knows which was reached.
    /// `hasFollowed`: a primary's log came to it in this life. `attemptID` is for the transaction that may follow. Without
    /// `mayCampaign` its log cannot be taken over as it is: it goes on asking, and follows a later reign.
    package mutating func read(
        _ stored: StoredRecord, request: UInt64, end: Position, known: Epoch, told: Told,
        hasFollowed: Bool, attemptID: AttemptID, mayCampaign: Bool = true, now: Tick, into directives: inout [Directive]
    ) {
        guard isNewest(stored, request: request, into: &directives) else { return }
        firstShown = firstShown ?? now
        rank = stored.record.rank(of: configuration.candidate.member)
        switch phase {
        case .following:
            // An answer that a heartbeat has overtaken says nothing.
            guard stored.record.epoch >= promised else { return }
            if isNewReign(stored.record) {
                follow(stored, now: now, into: &directives)
            } else {
                directives.append(.follow(stored))
            }
        case .won: break
        case .asking:
            // A node that was reached knows a newer record, or another reign of its epoch: this one is read again.
            guard !told.shown.values.contains(where: { $0.isBeyond(stored) }) else { return }
            guard stored.record.contains(configuration.candidate.member) else {
                giveUp(by: stored, end: end, into: &directives)
                return follow(stored, now: now, into: &directives)
            }
            // The silence was another primary's: this one has its time to be heard.
            guard !isNewReign(stored.record) else { return follow(stored, now: now, into: &directives) }
            guard mayCampaign, hasFollowed && isFresh(now) || isInformed(stored.record, told, now: now) else { return }
            let highest = max(promised, known, end.epoch)
            let record = stored.record.campaign(
                configuration.candidate, above: highest, after: end, attempt: attemptID,
                keepingPrimary: offer.map { $0.staysMember && now < $0.ends } ?? false)
            guard let record else { return }
            (self.end, offer) = (end, nil)
            (phase, promised) = (.promising, record.epoch)
            attempt = RecordAttempt(replacing: stored, with: record)
            directives.append(.promise(record.epoch))
        case .promising: break
        case .campaigning: settle(by: stored, now: now, into: &directives)
        }
    }

    /// The promise is durable: the transaction may leave.
    package mutating func promiseStored(_ epoch: Epoch, now: Tick, into directives: inout [Directive]) {
        guard phase == .promising, epoch == promised, let attempt else { return }
        phase = .campaigning
        nextDeadline = now.advanced(byMilliseconds: configuration.retryMilliseconds)
        directives.append(.transact(attempt, request: memory.ask()))
    }

    /// The arbiter has applied `id`; an answer to an attempt that is settled, or of another life, is ignored.
    package mutating func applied(
        _ id: AttemptID, revision: Int64, now: Tick, into directives: inout [Directive]
    ) {
        guard phase == .campaigning, let attempt, attempt.attempt == id else { return }
        win(StoredRecord(attempt.proposed, revision: revision), into: &directives)
    }

    /// The comparison failed, and the arbiter has shown this record in the same answer.
    package mutating func refused(
        _ stored: StoredRecord, request: UInt64, now: Tick, into directives: inout [Directive]
    ) {
        guard isNewest(stored, request: request, into: &directives) else { return }
        if phase == .campaigning { settle(by: stored, now: now, into: &directives) }
    }

    private mutating func isNewest(
        _ stored: StoredRecord, request: UInt64, into directives: inout [Directive]
    ) -> Bool {
        switch memory.judge(stored, request: request) {
        case .newest: return true
        case .regressed:
            directives.append(.regressed(stored))
            return false
        case .late: return false
        }
    }

    // MARK: - Outcomes

    private mutating func settle(by stored: StoredRecord, now: Tick, into directives: inout [Directive]) {
        guard let attempt else { preconditionFailure("a campaign has an attempt") }
        switch attempt.settlement(by: stored) {
        case .applied: win(stored, into: &directives)
        case .refused:
            giveUp(by: stored, end: end, into: &directives)
            follow(stored, now: now, into: &directives)
        case .open: break
        case .regressed: directives.append(.regressed(stored))
        }
    }

    /// Withdraws a promise that no campaign needs any more.
    ///
    /// That of an earlier life of the process is one, if the record has no place for this member: whatever that life
    /// asked for compared a record that had, so it will not be applied any more.
    private mutating func giveUp(by stored: StoredRecord, end: Position, into directives: inout [Directive]) {
        let needed = max(stored.record.epoch, end.epoch)
        guard promised > needed else { return }
        promised = needed
        directives.append(.withdrawPromise(stored))
    }

    private mutating func win(_ stored: StoredRecord, into directives: inout [Directive]) {
        memory.wrote(stored)
        (phase, attempt, nextDeadline) = (.won, nil, .never)
        directives.append(.open(stored))
    }

    /// Whether the record names a primary of whom this node has not waited to hear, and which is not itself.
    private func isNewReign(_ record: ConfigurationRecord) -> Bool {
        record.epoch > max(promised, awaited) && record.primary.member != configuration.candidate.member
    }

    /// Whether a primary was heard so lately that nothing has gone on without this node.
    private func isFresh(_ now: Tick) -> Bool {
        now < lastHeard.advanced(byMilliseconds: configuration.informMilliseconds)
    }

    /// Who was started and has followed nobody since, or was cut off for long, knows nothing of what came after its end, and
    /// the arbiter may have been set back to before that: another member has told what it has, and none has more, or they
    /// have had their time.
    private func isInformed(_ record: ConfigurationRecord, _ told: Told, now: Tick) -> Bool {
        let others = record.inSync.filter { $0 != configuration.candidate.member }
        // A member has something of a log in which an epoch was opened later: who has nothing has lost its disk, and is
        // another member under the name, who may have been shown nothing but what the arbiter shows now.
        let mayBeEmpty = record.openedAfter.sequence == .zero
        let isTold = others.contains { told.shown[$0.node] != nil && (mayBeEmpty || !told.empty.contains($0.node)) }
        return others.isEmpty || isTold && !others.contains { told.further.contains($0.node) }
            || now >= (firstShown ?? now).advanced(byMilliseconds: configuration.informMilliseconds)
    }

    private mutating func follow(_ stored: StoredRecord, now: Tick, into directives: inout [Directive]) {
        (phase, attempt, offer) = (.following, nil, nil)
        awaited = max(awaited, stored.record.epoch)
        wait(now: now)
        directives.append(.follow(stored))
    }

    /// The node was deposed, or gave its post away: it follows again.
    ///
    /// `memory` is what it learned of the arbiter while it was primary; its requests are numbered on from there.
    package mutating func steppedDown(_ memory: ArbiterMemory, now: Tick) {
        self.memory = memory
        (phase, attempt) = (.following, nil)
        wait(now: now)
    }

    package func checkInvariants() {
        precondition(
            (attempt != nil) == (phase == .promising || phase == .campaigning), "an attempt is of a campaign")
        if let attempt {
            precondition(attempt.proposed.epoch == promised, "who campaigns has promised its epoch")
            precondition(attempt.proposed.primary == configuration.candidate, "it campaigns for itself")
        }
    }
}

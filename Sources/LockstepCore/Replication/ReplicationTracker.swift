/// What a member says of its disk: everything through `end` is durable there (PROTOCOL, R-77).
package struct ReplicationAcknowledgement: Hashable, Sendable {
    package var member: Member
    /// The member's process.
    package var boot: BootID
    /// The primary's epoch and process that it follows.
    package var epoch: Epoch
    package var primaryBoot: BootID
    /// Of the stream that it opened; what was said in an earlier one counts for nothing.
    package var stream: UInt64
    /// The end of a batch.
    package var end: SequenceNumber
    package var hash: BatchHash

    package init(
        member: Member, boot: BootID, epoch: Epoch, primaryBoot: BootID, stream: UInt64, end: SequenceNumber,
        hash: BatchHash
    ) {
        (self.member, self.boot, self.epoch, self.primaryBoot) = (member, boot, epoch, primaryBoot)
        (self.stream, self.end, self.hash) = (stream, end, hash)
    }
}

/// How far each follower of a primary is, and how far the log is therefore committed (PROTOCOL, R-77 to R-79).
///
/// Used by the primary of one epoch, and thrown away with it. Cost: each question walks the followers, of which a
/// cluster has a few.
///
/// Invariants: a follower's ``Follower/durable`` never goes back within a stream, and is the end of a batch of this
/// primary's log.
package struct ReplicationTracker: Hashable, Sendable {
    /// A data node that has opened a stream, in the set or not.
    package struct Follower: Hashable, Sendable {
        package fileprivate(set) var boot: BootID
        /// Of its stream; nil while it has none.
        package fileprivate(set) var stream: UInt64?
        /// Through which everything is on its disk, as it said in this stream.
        package fileprivate(set) var durable: SequenceNumber
        /// The same, in any stream of this epoch: a disk that has less was set back.
        package fileprivate(set) var highest: SequenceNumber
        package fileprivate(set) var lastHeard: Tick
        /// When it last made progress, or had everything; a new stream is none.
        package fileprivate(set) var lastProgress: Tick
    }

    /// How long a member may be silent (PROTOCOL, R-79): six heartbeats.
    package static let silenceMilliseconds: Int64 = 600
    /// How long a member may have something to write and not write it.
    package static let stallMilliseconds: Int64 = 2_000
    /// A primary that heard no member for so long stops its heartbeats: twice the grace of an election.
    package static let deafMilliseconds: Int64 = 2_600
    /// How long who left for slowness waits before it is proposed again, doubled each time.
    package static let firstBanMilliseconds: Int64 = 5_000
    package static let longestBanMilliseconds: Int64 = 300_000

    private struct Ban: Hashable, Sendable {
        var until: Tick
        var milliseconds: Int64
    }

    package let epoch: Epoch
    package let boot: BootID
    package let own: Member
    /// The batch with this epoch's `epochOpen`; nothing commits in the epoch before it does.
    package let opening: SequenceNumber
    private var followers: [Member: Follower] = [:]
    private var bans: [Member: Ban] = [:]
    /// The end of the log at the last heartbeat: who has that is at most one heartbeat of writes behind.
    private var endAtHeartbeat: SequenceNumber
    /// When a member or another data node was last heard.
    private var anybodyHeard: Tick
    /// When a heartbeat last left the store out.
    private var lastLeftOut: Tick?
    /// When the epoch was won: a member that was never heard is silent since then.
    private let begun: Tick

    /// Begins when the epoch was won; `opening` is the end of the batch that opens it.
    package init(epoch: Epoch, boot: BootID, own: Member, opening: SequenceNumber, now: Tick) {
        (self.epoch, self.boot, self.own, self.opening) = (epoch, boot, own, opening)
        (endAtHeartbeat, anybodyHeard, begun) = (opening, now, now)
    }

    package subscript(_ member: Member) -> Follower? { followers[member] }

    // MARK: - What is heard

    /// What became of a stream that was opened.
    package enum Opening: Hashable, Sendable {
        case opened
        /// It has the name and the incarnation of this primary: its disk is a copy of this one's.
        case isOwn
        /// It has less than it acknowledged in this epoch: its disk was set back, and it needs another incarnation.
        case wasSetBack
    }

    /// A data node opens a stream, and has everything through `durable`; an earlier stream of it is over.
    ///
    /// `durable` was compared by its hash, or is zero. Anything but `opened` changes nothing.
    package mutating func opened(
        _ member: Member, boot: BootID, stream: UInt64, durable: SequenceNumber, now: Tick
    ) -> Opening {
        guard member != own else { return .isOwn }
        let before = followers[member]
        if let before, before.boot != boot, durable < before.highest { return .wasSetBack }
        // What it says of the time before this epoch may be late, and cut off since, by a reign in between.
        let inEpoch = durable >= opening ? durable : .zero
        followers[member] = Follower(
            boot: boot, stream: stream, durable: durable, highest: max(inEpoch, before?.highest ?? .zero),
            lastHeard: now, lastProgress: before?.lastProgress ?? now)
        anybodyHeard = now
        return .opened
    }

    /// The stream is over: its connection ended, or could not take a frame.
    ///
    /// What was acknowledged in it counts no more; the next stream begins by saying it again.
    package mutating func closed(_ member: Member, stream: UInt64) {
        guard followers[member]?.stream == stream else { return }
        followers[member]?.stream = nil
        followers[member]?.durable = .zero
    }

    /// Takes an acknowledgement in; false if it is not of this primary, of this stream, or of this log.
    ///
    /// `hash` is that of this primary's log at the end that was acknowledged; nil if no batch ends there, or none
    /// that is remembered.
    package mutating func acknowledged(
        _ acknowledgement: ReplicationAcknowledgement, hash: BatchHash?, head: SequenceNumber, now: Tick
    ) -> Bool {
        let member = acknowledgement.member
        guard var follower = followers[member], acknowledgement.epoch == epoch, acknowledgement.primaryBoot == boot,
            acknowledgement.boot == follower.boot, acknowledgement.stream == follower.stream,
            acknowledgement.hash == hash, acknowledgement.end <= head
        else { return false }
        follower.lastHeard = now
        if acknowledgement.end > follower.highest || acknowledgement.end >= head { follower.lastProgress = now }
        follower.durable = max(follower.durable, acknowledgement.end)
        follower.highest = max(follower.highest, acknowledgement.end)
        followers[member] = follower
        anybodyHeard = now
        return true
    }

    /// Another data node was heard: then this host is not the one that is cut off.
    package mutating func heardAnybody(now: Tick) { anybodyHeard = now }

    /// Who has what the last heartbeat named is not stuck, however long ago that was.
    package mutating func noteProgress(now: Tick) {
        for (member, follower) in followers where follower.durable >= endAtHeartbeat {
            followers[member]?.lastProgress = now
        }
    }

    /// A heartbeat leaves; `end` is the end of what was sent.
    package mutating func heartbeat(end: SequenceNumber, now: Tick) {
        noteProgress(now: now)
        endAtHeartbeat = end
    }

    /// A heartbeat leaves without this store: nobody is asked, and whoever says nothing is not silent.
    package mutating func heartbeatLeftOut(now: Tick) { lastLeftOut = now }

    // MARK: - What is committed

    /// Through which batch everything is committed: what every required member has on its disk.
    ///
    /// It never goes back: with fewer members than the minimum, and before the epoch's opening can commit, it stays.
    package func commitEnd(_ set: InSyncSet, ownDurable: SequenceNumber, committed: SequenceNumber) -> SequenceNumber {
        guard set.hasMinimum else { return committed }
        var end = ownDurable
        for member in set.required where member != own { end = min(end, followers[member]?.durable ?? .zero) }
        return end >= opening ? max(end, committed) : committed
    }

    // MARK: - The set

    /// What is to be proposed now, if anything: first who must leave, then who may come.
    ///
    /// A primary that hears nobody removes nobody: it is the one that is cut off. Others must have been heard for half
    /// a silence longer than the silent one, since acknowledgements of two members never come at the same moment. Nor
    /// does one that has left the store out of a heartbeat within a silence: its members say nothing since it does not
    /// ask, or campaign, and it is to lose its post to one of them.
    package func proposal(
        _ set: InSyncSet, committed: SequenceNumber, head: SequenceNumber, now: Tick
    ) -> InSyncSet.Change? {
        guard !set.isChanging else { return nil }
        let hasAsked = lastLeftOut.map { now - $0 >= Tick.milliseconds(Self.silenceMilliseconds) } ?? true
        for member in set.required where hasAsked && set.canLose(member) {
            let heard = followers[member]?.lastHeard ?? begun
            if now - heard >= Tick.milliseconds(Self.silenceMilliseconds) {
                if anybodyHeard - heard >= Tick.milliseconds(Self.silenceMilliseconds / 2) { return .removes(member) }
            } else if isStuck(member, head: head, now: now) {
                return .removes(member)
            }
        }
        // While commits wait for one that may not leave, whoever can come makes room for that.
        let isBlocked = silent(set, now: now).contains { !set.canLose($0) }
        let goal = max(committed, opening, endAtHeartbeat)
        let candidates = followers.filter { member, follower in
            !set.confirmed.record.contains(member) && follower.durable >= goal
                && now - follower.lastHeard < Tick.milliseconds(Self.silenceMilliseconds)
                && (isBlocked || bans[member].map { now >= $0.until } != false)
        }
        guard set.required.count < Limits.inSyncMembers, let member = candidates.keys.min() else { return nil }
        return .adds(member)
    }

    /// Who leaves next while nobody is heard and somebody may leave.
    package func removal(_ set: InSyncSet) -> InSyncSet.Change? {
        set.required.first { set.canLose($0) }.map { .removes($0) }
    }

    /// The members that are required and were not heard for too long.
    package func silent(_ set: InSyncSet, now: Tick) -> [Member] {
        set.required.filter { member in
            member != own
                && now - (followers[member]?.lastHeard ?? begun) >= Tick.milliseconds(Self.silenceMilliseconds)
        }
    }

    /// The members for which a commit waits: those that are silent, and those whose disk does not write.
    package func blocking(_ set: InSyncSet, head: SequenceNumber, now: Tick) -> [Member] {
        let silent = silent(set, now: now)
        return set.required.filter { silent.contains($0) || isStuck($0, head: head, now: now) }
    }

    /// Whether it speaks, has something to write, and has not written for too long.
    private func isStuck(_ member: Member, head: SequenceNumber, now: Tick) -> Bool {
        guard let follower = followers[member], follower.durable < head else { return false }
        return now - follower.lastProgress >= Tick.milliseconds(Self.stallMilliseconds)
    }

    /// The arbiter has taken `member` out; one that is stuck waits before it is proposed again.
    package mutating func removed(_ member: Member, head: SequenceNumber, now: Tick) {
        guard isStuck(member, head: head, now: now) else { return }
        let last = bans[member]?.milliseconds
        let length = min(last.map { $0 * 2 } ?? Self.firstBanMilliseconds, Self.longestBanMilliseconds)
        bans[member] = Ban(until: now.advanced(byMilliseconds: length), milliseconds: length)
    }

    /// Whether it hears no data node any more, and should lose its post: then it sends no heartbeats.
    ///
    /// It then reads the record, once a second: if somebody else reigns, it learns it from the answer. A
    /// sole member hears none and keeps its post.
    package func isDeaf(_ set: InSyncSet, now: Tick) -> Bool {
        guard set.required.contains(where: { $0 != own }) else { return false }
        let heard = followers.values.map(\.lastHeard).max() ?? begun
        return now - heard >= Tick.milliseconds(Self.deafMilliseconds)
    }
}

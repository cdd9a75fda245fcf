/// A post that is given away on purpose: by a primary that stops, or as an operator wants it (PROTOCOL, R-90).
///
///     waiting for everything to commit --TAKE_OVER to one that has it--> asked --the record names it--> over
///                                            ^                             |
///                                            `---- 500 ms, the next one ---'--- nobody is left, 2 s ---> kept
struct Handover: Hashable, Sendable {
    /// The only node that may get it; nil: whoever has everything.
    var target: NodeID?
    /// The primary goes on as a standby and stays a member, if its disk has room; one that stops leaves the set.
    var staysMember: Bool
    /// Who was asked, and has not taken it yet.
    var asked: Set<Member> = []
    /// When the next is asked.
    var nextMember: Tick = .zero
    /// When it is looked at again.
    var nextLook: Tick = .zero
    /// When it is given up; nil before the first look.
    var ends: Tick?

    /// One that was asked has so long to win the record.
    static let memberMilliseconds: Int64 = 500
    /// All of it takes at most so long.
    static let longestMilliseconds: Int64 = 2_000
    /// The record is read so often, once somebody was asked.
    static let lookMilliseconds: Int64 = 20
}

/// Why a post cannot be given away now.
package enum HandoverRefusal: Hashable, Sendable {
    /// The primary admits nothing itself, or has no standbys.
    case notAdmitting
    case isUnderWay
    /// The set has no other member, or none of that name.
    case noSuchMember
    /// No such member follows the log at present.
    case nobodyFollows

    /// Whether the same may be granted a moment later: a primary that has just won is followed only then.
    package var isPassing: Bool { self == .notAdmitting || self == .nobodyFollows }
}

/// Why a primary that was to give its post away goes on with it.
package enum PostKept: Hashable, Sendable {
    /// Nobody had everything in time.
    case nobodyHasEverything
    /// Who was asked has not taken it in time.
    case nobodyTookIt
}

extension ReplicationServer {
    /// Whether it waits for a standby to take its post.
    package var isHandingOver: Bool { handover != nil }

    /// Gives the post away as soon as everything is committed, since the primary stops; nothing is admitted any more.
    package mutating func giveUpPost() {
        guard !isSole else { return }
        // Who was asked already still may take it.
        var handover = handover ?? Handover(target: nil, staysMember: false)
        (handover.target, handover.staysMember) = (nil, false)
        self.handover = handover
    }

    /// Gives the post to `node`, or to whoever has everything, and goes on as a standby; nothing is admitted meanwhile.
    ///
    /// If nobody takes it ``ReplicationDirective/postKept(_:)`` says so, and the primary goes on.
    package mutating func giveAwayPost(to node: NodeID?) -> HandoverRefusal? {
        guard handover == nil else { return .isUnderWay }
        let members = inSync.confirmed.record.inSync.filter { $0 != tracker.own && (node == nil || $0.node == node) }
        guard !members.isEmpty else { return .noSuchMember }
        guard members.contains(where: { streams[$0] != nil }) else { return .nobodyFollows }
        handover = Handover(target: node, staysMember: true)
        return nil
    }

    /// Asks a standby that has everything to take over, and reads the record to learn that it did.
    mutating func handOver(now: Tick, log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        guard var handover, now >= handover.nextLook else { return }
        let ends = handover.ends ?? now.advanced(byMilliseconds: Handover.longestMilliseconds)
        handover.ends = ends
        handover.nextLook = now.advanced(byMilliseconds: Handover.lookMilliseconds)
        self.handover = handover
        if !handover.asked.isEmpty { readRecord(into: &directives) }
        guard now < ends else { return keepPost(into: &directives) }
        // What the own disk has no room for, and a member has, need not commit here.
        guard now >= handover.nextMember, log.pipeline.isDrained || log.lacksRoom, !inSync.isChanging else { return }
        let followers = inSync.confirmed.record.inSync.filter { member in
            streams[member] != nil && (handover.target == nil || member.node == handover.target)
        }
        let candidates = followers.filter { member in
            !handover.asked.contains(member) && (tracker[member]?.durable ?? .zero) >= log.end.sequence
        }
        let next = candidates.min {
            (inSync.confirmed.record.rank(of: $0), $0) < (inSync.confirmed.record.rank(of: $1), $1)
        }
        guard let next, let stream = streams[next] else {
            // Who was asked has had its time, and nobody else has everything.
            if !handover.asked.isEmpty || followers.isEmpty { keepPost(into: &directives) }
            return
        }
        handover.asked.insert(next)
        handover.nextMember = now.advanced(byMilliseconds: Handover.memberMilliseconds)
        self.handover = handover
        // Without room this one would hold up what the next primary commits.
        let staysMember = handover.staysMember && !log.lacksRoom
        let takeOver = TakeOver(nonce: stream.nonce, end: log.end, staysMember: staysMember)
        directives.append(.send(log.stamp.frame(.replicationReply(.takeOver(takeOver))), to: stream.connection))
    }

    /// Nobody took it: a primary that does not stop goes on.
    ///
    /// Who was asked may still win the record. Then this one is deposed, as by any other election: what it admits from
    /// here on commits only if every required member acknowledges it, and who campaigns acknowledges nothing.
    private mutating func keepPost(into directives: inout [ReplicationDirective]) {
        guard let ended = handover.take(), ended.staysMember else { return }
        directives.append(.postKept(ended.asked.isEmpty ? .nobodyHasEverything : .nobodyTookIt))
    }
}

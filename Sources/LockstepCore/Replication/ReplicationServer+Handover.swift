/// A post that is given away on purpose, by a primary that stops (PROTOCOL, R-90).
///
///     waiting for everything to commit --TAKE_OVER to one that has it--> asked --the record names it--> over
///                                            ^                             |
///                                            `---- 500 ms, the next one ---'--- nobody is left, 2 s ---> kept
struct Handover: Hashable, Sendable {
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

extension ReplicationServer {
    /// Whether it waits for a standby to take its post.
    package var isHandingOver: Bool { handover != nil }

    /// Gives the post away as soon as everything is committed; nothing is admitted any more.
    package mutating func giveUpPost() {
        if !isSole { handover = Handover() }
    }

    /// Asks a standby that has everything to take over, and reads the record to learn that it did.
    mutating func handOver(now: Tick, log: ReplicationLog, into directives: inout [ReplicationDirective]) {
        guard var handover, now >= handover.nextLook else { return }
        let ends = handover.ends ?? now.advanced(byMilliseconds: Handover.longestMilliseconds)
        handover.ends = ends
        handover.nextLook = now.advanced(byMilliseconds: Handover.lookMilliseconds)
        self.handover = handover
        if !handover.asked.isEmpty { readRecord(into: &directives) }
        guard now < ends else { return self.handover = nil }
        guard now >= handover.nextMember, log.committed == log.end.sequence, !inSync.isChanging else { return }
        let candidates = inSync.required.filter { member in
            streams[member] != nil && (tracker[member]?.durable ?? .zero) >= log.end.sequence
        }
        let next = candidates.filter { !handover.asked.contains($0) }.min {
            (inSync.confirmed.record.rank(of: $0), $0) < (inSync.confirmed.record.rank(of: $1), $1)
        }
        guard let next, let stream = streams[next] else {
            // Who was asked has had its time, and nobody else has everything.
            if !handover.asked.isEmpty || streams.isEmpty { self.handover = nil }
            return
        }
        handover.asked.insert(next)
        handover.nextMember = now.advanced(byMilliseconds: Handover.memberMilliseconds)
        self.handover = handover
        let takeOver = TakeOver(nonce: stream.nonce, end: log.end)
        directives.append(.send(log.stamp.frame(.replicationReply(.takeOver(takeOver))), to: stream.connection))
    }
}

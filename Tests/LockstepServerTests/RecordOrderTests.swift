import Foundation
import LockstepCore
import LockstepNode
import LockstepServer
import Testing

/// What an operator may write into a store's record, and what is refused (PROTOCOL, R-75, R-76, R-81).
@Suite struct RecordOrderTests {
    private static let cluster = ClusterID(rawValue: 0xABC << 64 | 1)
    private static let end = Position(
        epoch: Epoch(rawValue: 4), sequence: SequenceNumber(rawValue: 90), hash: BatchHash(rawValue: 7))

    private static func node(_ letter: String) -> NodeID {
        guard let node = NodeID("node-\(letter)") else { preconditionFailure("a name") }
        return node
    }
    static func member(_ letter: String) -> Member {
        Member(node: node(letter), incarnation: Incarnation(rawValue: UInt128(letter.utf8.first ?? 0)))
    }
    private static func address(_ letter: String) -> NodeAddress {
        NodeAddress(node: node(letter), boot: BootID(rawValue: 3), endpoints: ["tcp://10.0.0.1:7400"])
    }

    /// Led by the first.
    static func record(_ letters: String, minimum: Int = 2) -> ConfigurationRecord {
        let names = letters.map(String.init)
        var record = ConfigurationRecord(
            cluster: cluster, store: StoreID(cluster: cluster, name: "counters"), channel: Channel(rawValue: 3),
            epoch: Epoch(rawValue: 5),
            primary: .init(member: member(names[0]), boot: BootID(rawValue: 9), endpoints: []), openedAfter: end,
            minimum: minimum, attempt: .none)
        for name in names.dropFirst() { record = record.adding(member(name), attempt: .none) }
        return record
    }

    private func order(_ listed: String) -> RecordOrder {
        RecordOrder(
            store: "counters", listed: listed.map { Self.address(String($0)) }, attempt: AttemptID(rawValue: 50))
    }

    private func post(
        _ letter: String, number: UInt64 = 9, isPrimary: Bool = false,
        others: [String: (epoch: UInt64, end: UInt64)] = [:], boots: [String: UInt64] = [:], leader: String? = nil,
        cannotLead: Bool = false, isWritten: Bool = true, minimum: Int? = 2, leadersMinimum: Int? = nil,
        lacking: Set<String> = [], knowing: Set<String> = []
    ) throws -> StorePost {
        let least = minimum.map(String.init) ?? "null"
        let leadersLeast = leadersMinimum.map(String.init) ?? least
        let reports = others.sorted { $0.key < $1.key }.map { name, end in
            #"{"node":"\#(name)","epoch":\#(end.epoch),"number":3,"end":"\#(end.epoch):\#(end.end)","#
                + #""leads":\#(name == leader),"minimum":\#(name == leader ? leadersLeast : least),"members":[],"#
                + #""lacksCommitted":\#(lacking.contains(name)),"knowsMore":\#(knowing.contains(name)),"#
                + #""shown":\#(Self.shown(3, end.epoch, boots[name] ?? 0))}"#
        }
        let json = """
            {"store":"counters","node":"node-\(letter)","incarnation":"\(Self.member(letter).incarnation)",
            "endpoint":"tcp://10.0.0.9:7400","isPrimary":\(isPrimary),
            "cannotLead":\(cannotLead),"isWritten":\(isWritten),"epoch":8,"number":\(number),
            "shown":\(Self.shown(number, 4, boots["node-\(letter)"] ?? 0)),
            "end":"\(KnownPosition(position: Self.end, boot: .none).noteText)","channel":3,"minimum":\(least),"members":[],
            "primary":"node-a",
            "reports":[\(reports.joined(separator: ","))]}
            """
        return try JSONDecoder().decode(StorePost.self, from: Data(json.utf8))
    }

    private static func shown(_ number: UInt64, _ epoch: UInt64, _ boot: UInt64) -> String {
        #"{"revision":40,"number":\#(number),"epoch":\#(epoch),"boot":"\#(BootID(rawValue: UInt128(boot)))"}"#
    }

    private func refusal(_ body: () throws -> some Any) -> String {
        do {
            _ = try body()
            return ""
        } catch { return (error as? CommandFailure)?.message ?? "\(error)" }
    }

    /// Who is gone for good leaves with the same epoch and boot, and the next number; the minimum only if it is named.
    @Test func whoIsGoneIsTakenOut() throws {
        let record = Self.record("abc")
        let next = try order("ab").removal(of: Self.node("c"), from: record, minimum: nil)
        #expect(next.inSync == [Self.member("a"), Self.member("b")] && next.minimum == 2)
        #expect(next.number == record.number + 1 && next.epoch == record.epoch && next.primary == record.primary)
        let two = try order("a").removal(of: Self.node("b"), from: Self.record("ab"), minimum: 1)
        #expect(two.inSync == [Self.member("a")] && two.minimum == 1 && two.problem == nil)
    }

    /// Who is there, leads, is no member, or is needed for the minimum stays.
    @Test func whoIsNotGoneStays() {
        let record = Self.record("abc")
        #expect(
            refusal { try order("abc").removal(of: Self.node("c"), from: record, minimum: nil) }.contains("is there"))
        #expect(
            refusal { try order("bc").removal(of: Self.node("a"), from: record, minimum: nil) }.contains(
                "is the primary"))
        #expect(
            refusal { try order("ab").removal(of: Self.node("d"), from: record, minimum: nil) }.contains(
                "not in the set of counters, which is node-a, node-b, node-c"))
        #expect(
            refusal { try order("a").removal(of: Self.node("b"), from: Self.record("ab"), minimum: nil) }.contains(
                "--minimum 1"))
    }

    /// A higher minimum needs as many members that are there; a lower one is always taken, and the same changes nothing.
    @Test func aMinimumIsChanged() throws {
        let record = Self.record("abc")
        let next = try #require(try order("abc").requirement(of: 3, in: record))
        #expect(next.minimum == 3 && next.number == record.number + 1 && next.problem == nil)
        #expect(next.epoch == record.epoch && next.primary == record.primary && next.inSync == record.inSync)
        #expect(try order("abc").requirement(of: 2, in: record) == nil)
        #expect(try order("").requirement(of: 1, in: record)?.minimum == 1)
        #expect(
            refusal { try order("ac").requirement(of: 3, in: record) }.contains(
                "counters has 2 of 3 members (node-a, node-c), and would acknowledge nothing"))
        #expect(refusal { try order("").requirement(of: 3, in: record) }.contains("0 of 3 members (none is there)"))
        #expect(refusal { try order("abcd").requirement(of: 4, in: record) }.contains("3 of 4 members"))
        // It came back under its name without its disk.
        var other = Self.address("c")
        other.journals = [.init(store: record.store, incarnation: Incarnation(rawValue: 1))]
        let listed = [Self.address("a"), Self.address("b"), other]
        let again = RecordOrder(store: "counters", listed: listed, attempt: AttemptID(rawValue: 50))
        #expect(refusal { try again.requirement(of: 3, in: record) }.contains("2 of 3 members (node-a, node-b)"))
    }

    /// Who came back under its name without its disk is no member: it is removed, keeps nobody from a promotion, and does
    /// not answer for the disk that is gone.
    @Test func whoCameBackWithoutItsDiskIsNoMember() throws {
        let record = Self.record("abc")
        var other = Self.address("b")
        other.journals = [.init(store: record.store, incarnation: Incarnation(rawValue: 1))]
        func order(_ letters: String) -> RecordOrder {
            RecordOrder(
                store: "counters", listed: letters.map { Self.address(String($0)) } + [other],
                attempt: AttemptID(rawValue: 50))
        }
        let removed = try order("ac").removal(of: Self.node("b"), from: record, minimum: nil)
        #expect(removed.inSync == [Self.member("a"), Self.member("c")])
        #expect(try order("d").promotion(of: post("d"), in: Self.record("ab"), minimum: 1).inSync == [Self.member("d")])
        let asked = try post("a", others: ["node-b": (4, 0), "node-c": (4, 90)])
        func bound(without gone: [String]) throws -> ConfigurationRecord {
            try order("ac").rebinding(of: asked, in: record, cluster: Self.cluster, minimum: nil, without: gone)
        }
        #expect(refusal { try bound(without: []) }.contains("is not listed in etcd with the disk that it had"))
        #expect(try bound(without: ["node-b"]).inSync == [Self.member("a")])
    }

    /// An operator's other changes are refused while the arbiter shows less than the nodes remember: they would hide it.
    @Test func anArbiterThatWasSetBackIsNotWrittenOver() throws {
        let old = StoredRecord(Self.record("abc"), revision: 12)
        let text = refusal { try order("abc").checkHolds(old, post("a")) }
        #expect(text.contains("run \"cluster rebind\" first"))
        #expect(
            refusal { try order("abc").checkHolds(StoredRecord(old.record, revision: 40), post("a", number: 3)) }
                .isEmpty)
    }

    /// The node goes on alone, in an epoch above all that are known, of a record that says that something may be lost.
    @Test func aNodeGoesOnAlone() throws {
        let record = Self.record("ab")
        let next = try order("c").promotion(of: post("c"), in: record, minimum: 1)
        #expect(next.inSync == [Self.member("c")] && next.primary.member == Self.member("c"))
        #expect(next.primary.boot == .none && next.primary.endpoints == ["tcp://10.0.0.9:7400"])
        #expect(next.isUnclean && next.epoch == Epoch(rawValue: 9) && next.number == record.number + 1)
        #expect(next.minimum == 1 && next.openedAfter == Self.end)
        #expect(
            refusal { try order("bc").promotion(of: post("c"), in: record, minimum: nil) }.contains(
                "node-b of the set of counters is there"))
        #expect(
            refusal { try order("a").promotion(of: post("a", isPrimary: true), in: record, minimum: nil) }.contains(
                "is the primary of counters already"))
        let lacking = refusal { try order("c").promotion(of: post("c", cannotLead: true), in: record, minimum: 1) }
        #expect(lacking.contains("node-c waits for a snapshot of counters") && lacking.contains("restart the node"))
    }

    /// An arbiter that shows less than is remembered is bound again, by the node that has the most.
    @Test func aStoreIsBoundAgain() throws {
        let old = StoredRecord(Self.record("abc"), revision: 12)
        #expect(try order("ab").isSetBack(old, post("a")) && order("ab").isSetBack(nil, post("a")))
        #expect(try !order("ab").isSetBack(StoredRecord(old.record, revision: 40), post("a", number: 3)))
        let others: [String: (epoch: UInt64, end: UInt64)] = ["node-b": (4, 90), "node-c": (3, 400)]
        let next = try order("abc").rebinding(
            of: post("a", others: others), in: old.record, cluster: Self.cluster, minimum: nil)
        #expect(next.bindings == 1 && next.number > 9 && next.epoch > Epoch(rawValue: 1_000))
        #expect(next.inSync == [Self.member("a")] && next.minimum == 2 && !next.isUnclean)
        // Etcd has nothing any more.
        let anew = try order("abc").rebinding(
            of: post("a", others: others), in: nil, cluster: Self.cluster, minimum: nil)
        // The minimum was raised since the copy was made.
        let raised = try order("abc").rebinding(
            of: post("a", others: others, minimum: 3), in: old.record, cluster: Self.cluster, minimum: nil)
        #expect(raised.minimum == 3)
        #expect(anew.bindings == 1 && anew.channel == Channel(rawValue: 3) && anew.store == old.record.store)
    }

    /// It is refused while another node has more, or does not say what it has.
    @Test func aStoreIsBoundOnlyWithAll() throws {
        let old = Self.record("abc")
        func refused(_ others: [String: (epoch: UInt64, end: UInt64)], without gone: [String] = ["node-c"]) -> String {
            refusal {
                try order("ab").rebinding(
                    of: post("a", others: others), in: old, cluster: Self.cluster, minimum: nil, without: gone)
            }
        }
        #expect(refused([:]).contains("node-b is listed and does not say"))
        #expect(refused(["node-b": (4, 91)]).contains("node-b has more of counters than node-a"))
        #expect(refused(["node-b": (5, 2)]).contains("node-b has more"), "a later epoch has all of the earlier ones")
        #expect(refused(["node-b": (4, 90)]).isEmpty)
        let missing = refused(["node-b": (4, 90)], without: [])
        #expect(missing.contains("node-c may have more") && missing.hasSuffix("say --without node-c"))
        #expect(missing.contains("restart it if it goes by another etcd"))
        let unlisted = refusal {
            try order("b").rebinding(
                of: post("a", others: ["node-b": (4, 90)]), in: nil, cluster: Self.cluster, minimum: nil)
        }
        #expect(unlisted.contains("node-a is not listed in etcd yet"))
        let cannot = refusal {
            try order("a").rebinding(of: post("a", cannotLead: true), in: nil, cluster: Self.cluster, minimum: nil)
        }
        #expect(cannot.contains("restart the node"))
        let unwritten = refusal {
            try order("a").rebinding(of: post("a", isWritten: false), in: nil, cluster: Self.cluster, minimum: nil)
        }
        #expect(unwritten.contains("the disk of node-a has not written all"))
        func bound(minimum: Int?) throws -> Int {
            try order("a").rebinding(of: post("a", minimum: nil), in: nil, cluster: Self.cluster, minimum: minimum)
                .minimum
        }
        #expect(refusal { try bound(minimum: nil) }.contains("say it with --minimum N"))
        #expect(try bound(minimum: 3) == 3)
    }

    /// What a node knows to be committed counts for more than the epoch in which a log ends: an etcd that was set back can
    /// give a later one to who lacks it (PROTOCOL, R-81).
    @Test func whatWasCommittedIsBound() throws {
        let old = Self.record("abc")
        func asked(
            _ letter: String, _ others: [String: (epoch: UInt64, end: UInt64)], lacking: Set<String> = [],
            knowing: Set<String> = [], leader: String? = nil, minimum: Int = 2
        ) -> String {
            refusal {
                let post = try post(
                    letter, others: others, boots: ["node-a": 1, "node-b": 1, "node-c": 2], leader: leader,
                    minimum: minimum, lacking: lacking, knowing: knowing)
                return try order("abc").rebinding(of: post, in: old, cluster: Self.cluster, minimum: nil)
            }
        }
        // The third won an epoch alone, on a copy that was older than what the others have acknowledged.
        let others: [String: (epoch: UInt64, end: UInt64)] = ["node-b": (4, 90), "node-c": (5, 51)]
        #expect(asked("a", others).contains("node-c has more of counters"), "as far as epochs tell")
        #expect(asked("a", others, lacking: ["node-c"]).isEmpty)
        #expect(
            asked("a", others, lacking: ["node-c"], leader: "node-c").contains("restart that node, and run this again"))
        // Its log ends at the same place, in another reign: only the node itself could say so, and there it is refused.
        #expect(
            asked("a", ["node-b": (4, 90), "node-c": (4, 90)], lacking: ["node-c"], leader: "node-c").contains(
                "restart that node, and run this again"))
        let there = asked("c", ["node-a": (4, 90), "node-b": (4, 90)], knowing: ["node-a", "node-b"])
        #expect(there.contains("node-a has what was acknowledged") && there.contains("run this on that host"))
        // The first of them lacks something as well.
        let next = asked(
            "c", ["node-a": (4, 90), "node-b": (4, 90)], lacking: ["node-a"], knowing: ["node-a", "node-b"])
        #expect(next.contains("node-b has what was acknowledged"))
        let both = asked("a", others, lacking: ["node-c"], knowing: ["node-c"])
        #expect(both.contains("--without node-c") && both.contains("set back between"))
    }

    /// It is refused while another node leads, which may have more in a moment: it runs there, or that one gives way.
    @Test func aStoreIsNotBoundBesideWhoLeads() throws {
        let old = Self.record("ba")
        func refused(
            _ end: (epoch: UInt64, end: UInt64), isPrimary: Bool = false, leader: String? = "node-b",
            following primary: String = "node-a"
        ) -> String {
            refusal {
                var asked = try post("a", isPrimary: isPrimary, others: ["node-b": end], leader: leader)
                asked.primary = primary
                return try order("ab").rebinding(of: asked, in: old, cluster: Self.cluster, minimum: nil)
            }
        }
        #expect(refused((4, 91)).contains("node-b has more of counters than node-a: run this on that host"))
        let text = "node-b leads counters, and may acknowledge more at any time: "
        #expect(refused((4, 90)) == text + "run this on that host")
        #expect(refused((4, 90), isPrimary: true) == text + "restart that node, and run this again")
        #expect(refused((4, 89)) == text + "restart that node, and run this again")
        #expect(
            refused((4, 89), following: "node-b") == text + "run this on that host", "it went on since it was asked")
        #expect(refused((4, 90), leader: nil).isEmpty)
        // The record names it in an epoch that it has promised, and it has not heard of it.
        var won = old
        (won.epoch, won.number) = (Epoch(rawValue: 4), 4)
        let asked = try post("a", others: ["node-b": (4, 90)])
        func refused(by record: ConfigurationRecord) -> String {
            refusal { try order("ab").rebinding(of: asked, in: record, cluster: Self.cluster, minimum: nil) }
        }
        #expect(refused(by: won) == text + "run this on that host")
        won.number = 3
        #expect(refused(by: won).isEmpty, "it knows the record")
    }

    /// An epoch that etcd gave away twice is a set-back, whatever the number; which log holds is an operator's to say.
    @Test func anEpochThatTwoHadIsNotBoundBySize() throws {
        let old = Self.record("abc")
        let rivals = try post("a", others: ["node-b": (4, 91)], boots: ["node-a": 1, "node-b": 2])
        let text = refusal {
            try order("ab").rebinding(
                of: rivals, in: old, cluster: Self.cluster, minimum: nil, without: ["node-c"])
        }
        #expect(text.contains("node-b and node-a each had epoch 4 of counters"))
        // The minimum is 2, and b's reign is known by two: a's has acknowledged nothing.
        let two: [String: (epoch: UInt64, end: UInt64)] = ["node-b": (4, 91), "node-c": (4, 91)]
        let boots: [String: UInt64] = ["node-a": 1, "node-b": 2, "node-c": 2]
        let beaten = try post("a", others: two, boots: boots)
        let elsewhere = refusal { try order("abc").rebinding(of: beaten, in: old, cluster: Self.cluster, minimum: nil) }
        #expect(elsewhere.contains("only there something can have been acknowledged"))
        let first = try post("b", others: ["node-a": (4, 99), "node-c": (4, 90)], boots: boots)
        #expect(try order("abc").rebinding(of: first, in: old, cluster: Self.cluster, minimum: nil).bindings == 1)
        // It leads, and gets nobody of those who know the other reign.
        func refusedBesideLeader(_ boots: [String: UInt64], leadersMinimum: Int? = nil) throws -> String {
            let post = try self.post(
                "b", others: ["node-a": (4, 99), "node-c": (4, 90)], boots: boots, leader: "node-a",
                leadersMinimum: leadersMinimum)
            return refusal { try order("abc").rebinding(of: post, in: old, cluster: Self.cluster, minimum: nil) }
        }
        #expect(try refusedBesideLeader(boots).isEmpty)
        #expect(
            try refusedBesideLeader(["node-a": 1, "node-b": 2]).contains("restart that node, and run this again"),
            "who knows of no reign may follow it")
        #expect(
            try refusedBesideLeader(boots, leadersMinimum: 1).contains("etcd gave it away twice"),
            "alone it may have acknowledged")
        // A member that does not answer may have been the second of a's reign; without the record nobody knows who is one.
        let four = Self.record("abcd")
        #expect(
            refusal {
                try order("abc").rebinding(
                    of: first, in: four, cluster: Self.cluster, minimum: nil, without: ["node-d"])
            }.contains("etcd gave it away twice"))
        #expect(
            refusal { try order("abc").rebinding(of: first, in: nil, cluster: Self.cluster, minimum: nil) }
                .contains("etcd gave it away twice"))
        let ahead = old.rewritten(attempt: .none)
        func isSetBack(_ boots: [String: UInt64]) throws -> Bool {
            let post = try post("a", number: 1, others: ["node-b": (5, 2)], boots: boots)
            var record = ahead
            record.number = 50
            return order("ab").isSetBack(StoredRecord(record, revision: 60), post)
        }
        #expect(try !isSetBack(["node-b": 9]), "the reign of the record, which another node knows")
        #expect(try isSetBack(["node-b": 8]), "another reign of its epoch")
    }

    /// Posts spread evenly over members that are there, and no further.
    @Test func postsAreSpread() {
        let records = [
            "s1": Self.record("abc"), "s2": Self.record("abc"), "s3": Self.record("abc"), "s4": Self.record("acb"),
            "s5": Self.record("bac"),
        ]
        let all = PostBalance(records, listed: ["a", "b", "c"].map(Self.node))
        #expect(
            all.moves(of: Self.node("a")) == [
                .init(store: "s1", to: Self.node("c")), .init(store: "s2", to: Self.node("b")),
            ])
        #expect(all.moves(of: Self.node("b")).isEmpty && all.moves(of: Self.node("c")).isEmpty)
        let two = PostBalance(records, listed: ["a", "b"].map(Self.node))
        #expect(two.moves(of: Self.node("a")) == [.init(store: "s1", to: Self.node("b"))])
        #expect(PostBalance(records, listed: [Self.node("a")]).moves(of: Self.node("a")).isEmpty)
        let one = PostBalance(["s1": Self.record("ab")], listed: ["a", "b"].map(Self.node))
        #expect(one.moves(of: Self.node("a")).isEmpty, "one post is nowhere better than where it is")
    }
}

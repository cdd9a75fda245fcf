import LockstepCore
import LockstepServer
import Testing

/// How a store is bound anew to an etcd that shows less than its nodes remember (PROTOCOL, R-81).
extension RecordOrderTests {
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
            following primary: String = "node-a", lacking: Set<String> = []
        ) -> String {
            refusal {
                var asked = try post(
                    "a", isPrimary: isPrimary, others: ["node-b": end], leader: leader, lacking: lacking)
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
        #expect(
            refused((4, 89), following: "node-b", lacking: ["node-b"]) == text + "run this on that host",
            "and committed what came since")
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
}

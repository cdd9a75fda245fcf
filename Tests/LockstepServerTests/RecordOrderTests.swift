import Foundation
import LockstepCore
import LockstepNode
import LockstepServer
import Testing

/// What an operator may write into a store's record, and what is refused (PROTOCOL, R-75, R-76, R-81).
@Suite struct RecordOrderTests {
    static let cluster = ClusterID(rawValue: 0xABC << 64 | 1)
    static let end = Position(
        epoch: Epoch(rawValue: 4), sequence: SequenceNumber(rawValue: 90), hash: BatchHash(rawValue: 7))

    static func node(_ letter: String) -> NodeID {
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

    func order(_ listed: String) -> RecordOrder {
        RecordOrder(
            store: "counters", listed: listed.map { Self.address(String($0)) }, attempt: AttemptID(rawValue: 50))
    }

    func post(
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

    func refusal(_ body: () throws -> some Any) -> String {
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

import LockstepCore
import LockstepNode
import Logging
import Testing
import ZeroMQ

private typealias Message = LockstepCore.Message

/// What a node's door makes of frames, connections and names (PROTOCOL ).
@Suite struct AccessDoorTests {
    private static let cluster = ClusterID(rawValue: 7 << 64)
    private static let stamp = FrameStamp(
        channel: Channel(rawValue: 3), clusterHash: 7, epoch: Epoch(rawValue: 99))
    private static let ahead = KnownPosition(
        position: Position(epoch: Epoch(rawValue: 1 << 50), sequence: SequenceNumber(rawValue: 9), hash: .none),
        boot: .none)

    private let door: AccessDoor

    init() throws {
        let entries = try ["node-b", "web-1", "page-1"].map { name in
            AccessList.Entry(name: name, keys: [try CurveKeyPair.generate().publicKey], roles: [.node])
        }
        door = AccessDoor(list: try AccessList(entries))
    }

    private func peer(_ name: String, _ roles: Set<AccessRole>, stores: Set<String>? = nil) -> AccessPeer {
        AccessPeer(principal: Principal(name: name, roles: roles, stores: stores), address: "10.0.0.1")
    }

    private func hello(_ role: PeerRole, _ node: String, known: KnownPosition = .none, store: String = "sum") -> [UInt8]
    {
        var stamp = Self.stamp
        stamp.channel = .none
        return stamp.frame(
            .hello(
                Hello(
                    nonce: 5, role: role, node: node, incarnation: .none, boot: BootID(rawValue: 1), store: store,
                    known: known)))
    }

    private func judge(_ frame: [UInt8], _ peer: AccessPeer, on link: AccessLink = .ingress) -> AccessDoor.Verdict {
        door.judge(.copied(frame), of: peer, on: link, for: "sum", cluster: Self.cluster)
    }

    private func denial(_ verdict: AccessDoor.Verdict) -> AccessDoor.Denial? {
        if case .deny(let denial, _) = verdict { denial } else { nil }
    }

    private func refusal(_ verdict: AccessDoor.Verdict) -> (FrameHeader, Refused)? {
        guard case .deny(_, let answer?) = verdict else { return nil }
        return withBytes(of: answer) { bytes in
            guard let (header, message) = try? Message.decode(bytes, rule: .any), case .refused(let refused) = message
            else { return nil }
            return (header, refused)
        }
    }

    /// A replica says its own name; another's, or a made-up one, is refused with what to do.
    @Test func aReplicaSaysItsOwnName() throws {
        let replica = peer("node-b", [.replica])
        guard case .pass(_, greeting: 5) = judge(hello(.replica, "node-b"), replica) else {
            Issue.record("its own name was refused")
            return
        }
        for name in ["node-a", "web-1", "node-B", "x\ny"] {
            let (header, refused) = try #require(refusal(judge(hello(.replica, name), replica)))
            #expect(refused.reason == .denied && refused.nonce == 5 && header.clusterHash == 7)
            #expect(refused.text.contains("node-b") && !refused.text.contains("\n"))
            #expect(denial(judge(hello(.replica, name), replica))?.reason == .name)
        }
    }

    /// A data node follows under its own name: what it acknowledges counts for the member of that name.
    @Test func aDataNodeFollowsUnderItsOwnName() throws {
        let node = peer("node-b", [.node])
        func fetch(_ name: String) throws -> [UInt8] {
            let member = Member(node: try #require(NodeID(name)), incarnation: .none)
            let store = StoreID(rawValue: 3)
            let request = Fetch(
                nonce: 5, store: store, member: member, boot: BootID(rawValue: 1), promised: .zero,
                log: FollowerLog(end: .start(of: store), committed: .zero, epochEnds: []))
            return Self.stamp.frame(.replicationRequest(.fetch(request)))
        }
        guard case .pass = judge(try fetch("node-b"), node, on: .replication) else {
            Issue.record("its own name was refused")
            return
        }
        let denial = try #require(denial(judge(try fetch("node-a"), node, on: .replication)))
        #expect(denial.reason == .name && denial.text.contains("node-b") && denial.text.contains("node-a"))
    }

    /// A client's name is a label, but not the name of somebody else in the list.
    @Test func aClientHasNobodyElsesName() {
        let writer = peer("web-1", [.writer])
        #expect(denial(judge(hello(.client, "web-1"), writer)) == nil)
        #expect(denial(judge(hello(.client, "a-host-1f"), writer)) == nil)
        #expect(denial(judge(hello(.client, "node-b"), writer))?.reason == .name)
    }

    /// Only a replica may be one, and only somebody who may do something may say HELLO.
    @Test func aHelloNeedsARole() {
        for role in [AccessRole.writer, .reader, .admin] {
            #expect(denial(judge(hello(.replica, "web-1"), peer("web-1", [role])))?.reason == .role)
        }
        #expect(denial(judge(hello(.client, "web-1"), peer("web-1", [.admin])))?.reason == .role)
        #expect(denial(judge(hello(.client, "web-1"), peer("web-1", [.reader]))) == nil)
    }

    /// What a client says of its place does not reach the machine, a replica's does (PROTOCOL R-41).
    @Test func onlyAReplicaReportsAPlace() throws {
        func known(_ frame: [UInt8], _ peer: AccessPeer) throws -> (KnownPosition, Epoch) {
            guard case .pass(let passed, _) = judge(frame, peer) else {
                Issue.record("it was refused")
                return (.none, .zero)
            }
            let (header, message) = try withBytes(of: passed.bytes) { bytes throws(WireError) in
                try Message.decode(bytes, rule: .any)
            }
            guard case .hello(let hello) = message else { return (.none, .zero) }
            #expect(hello.nonce == 5 && header.channel == .none && header.clusterHash == 7)
            return (hello.known, header.epoch)
        }
        for role in [AccessRole.writer, .reader] {
            let (place, epoch) = try known(hello(.client, "web-1", known: Self.ahead), peer("web-1", [role]))
            #expect(place == .none && epoch == .zero)
        }
        #expect(try known(hello(.replica, "node-b", known: Self.ahead), peer("node-b", [.node])).0 == Self.ahead)
    }

    /// A name that is limited to other stores is denied there, whatever its role allows.
    @Test func aNameIsLimitedToItsStores() {
        let other = peer("web-1", [.node], stores: ["other"])
        let read = Message.read(Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0))
        #expect(denial(judge(Self.stamp.frame(read), other))?.reason == .store)
        #expect(denial(judge(hello(.client, "web-1"), other))?.reason == .store)
        #expect(denial(judge(hello(.client, "web-1", store: "other"), other)) == nil)
        #expect(door.judge(subscriptionOf: other.principal, to: "sum")?.reason == .store)
        #expect(door.judge(subscriptionOf: other.principal, to: "other") == nil)
        #expect(door.judge(subscriptionOf: Principal(name: "w", roles: [.writer]), to: "sum")?.reason == .role)
    }

    /// Who waits for an answer gets one: OPEN, RESUME and SUBMIT; other frames go without a word.
    @Test func whoWaitsIsToldWhy() throws {
        var reader = peer("page-1", [.reader])
        reader.nonces["sum"] = 77
        let open = Open(
            client: ClientKey(rawValue: 1), nonce: 21, timeToLive: 1_000_000, windowNumbers: 1, windowBytes: 1)
        let resume = Resume(session: .none, openNonce: 1, connectionNonce: 22, ackedThrough: 0)
        let submit = Submit(
            session: SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1)), first: 1,
            ackedThrough: 0, count: 1, isVoid: true, actions: 0..<0)
        let asked: [(Message, UInt64)] = [(.open(open), 21), (.resume(resume), 22), (.submit(submit), 77)]
        for (message, nonce) in asked {
            let (_, refused) = try #require(refusal(judge(Self.stamp.frame(message), reader)))
            #expect(refused.reason == .denied && refused.nonce == nonce)
            #expect(refused.text.contains("page-1") && refused.text.contains("writer"))
        }
        let query = Message.query(Query(session: .none, number: 1))
        guard case .deny(let denial, answer: nil) = judge(Self.stamp.frame(query), reader) else {
            Issue.record("a QUERY was passed or answered")
            return
        }
        #expect(denial.reason == .role && denial.what == "query")
    }

    /// What cannot be read is for the machine to count: it changes nothing there.
    @Test func whatCannotBeReadIsPassed() {
        let reader = peer("page-1", [.reader])
        for frame in [[], [1, 2, 3], [UInt8](repeating: 200, count: 40)] {
            #expect(denial(judge(frame, reader)) == nil)
        }
    }

    /// A line for each name and kind in ten seconds, with what was held back, and no line break of a peer.
    @Test func denialsAreWrittenOnceInTenSeconds() throws {
        let record = LogRecord()
        var audit = AccessAudit(logger: record.logger())
        let denial = AccessDoor.Denial(reason: .role, what: "submit", text: "no")
        for second in [0, 1, 9, 10] {
            let now = Tick.zero.advanced(byMilliseconds: Int64(second) * 1_000 + 1)
            audit.denied(denial, name: "web\n1", address: "10.0.0.1", now: now)
            audit.denied(denial, name: "web-2", address: "10.0.0.2", now: now)
        }
        #expect(record.lines.count == 4)
        let last = try #require(record.lines.last { $0.metadata["lockstep.peer"] == "web\\u{a}1" })
        #expect(last.level == .warning && last.metadata["lockstep.skipped"] == "2")
        #expect(last.metadata["lockstep.kind"] == "submit" && last.metadata["lockstep.address"] == "10.0.0.1")
        for number in 0..<3_000 {
            audit.denied(denial, name: "n\(number)", address: "", now: Tick.zero.advanced(byMilliseconds: 10_500))
        }
        #expect(record.lines.count < 1_100)
    }

    /// An attempt without a WELCOME is followed by the other key; one with a WELCOME is kept.
    @Test func aLinkTakesTheOtherKeyNext() throws {
        let own = try CurveKeyPair.generate()
        let keys = try (0..<2).map { _ in DialKeys(own: own, server: try CurveKeyPair.generate().publicKey) }
        var turn = KeyTurn()
        var taken: [DialKeys?] = []
        for _ in 0..<4 { taken.append(turn.next(for: "a", of: keys)) }
        turn.proved()
        for _ in 0..<2 { taken.append(turn.next(for: "a", of: keys)) }
        taken.append(turn.next(for: "b", of: keys))
        taken.append(turn.next(for: "b", of: [keys[0]]))
        taken.append(turn.next(for: "b", of: []))
        let (old, new) = (keys[0], keys[1])
        #expect(taken == [old, new, old, new, new, old, old, old, nil])
    }

    /// A connection whose rights have changed is given up, one of the same rights stays, and one that has ended is kept
    /// for a second, as long as its frames may wait.
    @Test func aConnectionIsLookedUpAnewWithEachList() throws {
        let keys = try (0..<3).map { _ in try CurveKeyPair.generate().publicKey }
        func list(_ roles: [AccessRole?]) throws -> AccessList {
            try AccessList(
                zip(keys, roles).enumerated().compactMap { number, pair in
                    pair.1.map { AccessList.Entry(name: "n\(number)", keys: [pair.0], roles: [$0]) }
                })
        }
        let first = try list([.writer, .writer, .writer])
        var peers = AccessPeers()
        let connections = (1...3).map { Connection(rawValue: $0) }
        for (connection, key) in zip(connections, keys) {
            guard case .known(let peer) = peers.met(connection, key: key, address: "", list: first) else {
                Issue.record("\(connection) is of nobody")
                continue
            }
            #expect(peer.principal.roles == [.writer])
        }
        let changed = peers.reviewed(by: try list([.writer, .reader, nil]))
        #expect(changed == [connections[1], connections[2]])
        #expect(peers[connections[0]] != nil && peers[connections[1]] == nil && peers[connections[2]] == nil)
        let stranger = peers.met(connections[2], key: keys[2], address: "", list: try list([.writer]))
        #expect(stranger == .stranger)
        peers.left(connections[0], now: .zero)
        peers.forget(now: Tick.zero.advanced(byMilliseconds: 900))
        #expect(peers[connections[0]] != nil)
        peers.forget(now: Tick.zero.advanced(byMilliseconds: 1_100))
        #expect(peers.count == 0)
    }

    /// A name has as many connections of a port as its quota says; one that has ended makes room, and another name is not
    /// concerned (PROTOCOL R-73).
    @Test func aNameHasSoManyConnections() throws {
        let keys = try (0..<2).map { _ in try CurveKeyPair.generate().publicKey }
        let list = try AccessList([
            .init(name: "a", keys: [keys[0]], roles: [.writer], quota: AccessQuota(connections: 2)),
            .init(name: "b", keys: [keys[1]], roles: [.writer]),
        ])
        var peers = AccessPeers()
        func isKnown(_ connection: UInt64, _ key: Int) -> Bool {
            let meeting = peers.met(Connection(rawValue: connection), key: keys[key], address: "", list: list)
            if case .known = meeting { return true }
            #expect(meeting == .tooMany(AccessPeer(principal: list.entries[0].principal, address: ""), most: 2))
            return false
        }
        #expect([1, 2, 3].map { isKnown($0, 0) } == [true, true, false])
        #expect([4, 5, 6].map { isKnown($0, 1) } == [true, true, true])
        peers.left(Connection(rawValue: 1), now: .zero)
        #expect([7, 8].map { isKnown($0, 0) } == [true, false])
    }
}

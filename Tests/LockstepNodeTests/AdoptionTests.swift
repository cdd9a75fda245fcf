import LockstepCore
import LockstepNode
import Testing

/// Journals that are made before their cluster is known, and nodes that do not belong to whom they are pointed at
/// (PROTOCOL R-1, R-9).
@Suite(.timeLimit(.minutes(5)))
struct AdoptionTests {
    private static let stores = ["left", "right"]

    /// A replica without a configured cluster, with journals that do not exist yet, joins: its journals take the cluster
    /// and the channels of its primary, once, and are the cluster's at the next start (PROTOCOL R-9).
    @Test
    func anEmptyJournalTakesThePrimarysCluster() async throws {
        let journals = KeptLogs()
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        // The channels of the primary's stores are not those of the replica's.
        let ports = try Self.stores.reversed().map { try primary.attach(name: $0) { SumState() } }
        try await withRunning(primary) {
            let endpoint = try await primary.listening()
            for _ in 0..<2 {
                for port in ports { _ = try await port.add([5]) }
                let replica = try Node(.replica(of: endpoint, journal: journals.source))
                let copies = try Self.stores.map { try replica.attach(name: $0) { SumState() } }
                try await withRunning(replica) {
                    for copy in copies { try await until { try await copy.status().phase == .live } }
                }
            }
            let cluster = try await primary.status().cluster
            for (index, name) in Self.stores.enumerated() {
                let content = try #require(journals.content(of: name))
                #expect(content.identity.map { "\($0.cluster)" } == cluster)
                #expect(content.identity?.channel == Channel(rawValue: UInt16(1 - index)))
                #expect(content.adoptions == 1)
                #expect(content.end > .zero)
            }
        }
    }

    /// A store that a replica has for the first time takes its channel from the WELCOME, also where the replica attaches its
    /// stores in another order than the primary and its other store has a journal (PROTOCOL R-4, R-9).
    @Test
    func aNewStoreTakesThePrimarysChannel() async throws {
        let journals = KeptLogs()
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let ports = try Self.stores.reversed().map { try primary.attach(name: $0) { SumState() } }
        try await withRunning(primary) {
            for port in ports { _ = try await port.add([5]) }
            let endpoint = try await primary.listening()
            for count in 1...2 {
                let replica = try Node(.replica(of: endpoint, journal: journals.source))
                let copies = try Self.stores.prefix(count).map { try replica.attach(name: $0) { SumState() } }
                try await withRunning(replica) {
                    for copy in copies { try await until { try await copy.status().phase == .live } }
                }
            }
        }
        for (index, name) in Self.stores.enumerated() {
            #expect(journals.content(of: name)?.identity?.channel == Channel(rawValue: UInt16(1 - index)))
        }
    }

    /// While the disk is full a journal takes no cluster, and nothing is followed; it is tried again (PROTOCOL R-9, R-45).
    @Test
    func adoptionWaitsForRoom() async throws {
        let journals = KeptLogs()
        journals.change("left") { $0.fault = .diskFull }
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try primary.attach(name: "left") { SumState() }
        try await withRunning(primary) {
            let replica = try Node(.replica(of: try await primary.listening(), journal: journals.source))
            let copy = try replica.attach(name: "left") { SumState() }
            try await withRunning(replica) {
                try await until { try await copy.status().alarms.contains { $0.kind == .diskFull } }
                #expect(try await copy.status().phase == .connecting)
                journals.change("left") { $0.fault = .none }
                try await until { try await copy.status().phase == .live }
                #expect(try await copy.status().alarms.isEmpty)
            }
        }
    }

    /// A journal that was made for a replica which never met a primary begins a cluster when a primary takes it (PROTOCOL
    /// R-9).
    @Test
    func aPrimaryGivesSuchAJournalACluster() async throws {
        let journals = KeptLogs()
        let replica = try Node(.replica(of: "tcp://127.0.0.1:9", journal: journals.source))
        _ = try replica.attach(name: "left") { SumState() }
        try await withRunning(replica) { try await until { journals.content(of: "left")?.identity != nil } }
        #expect(journals.content(of: "left")?.identity?.cluster == ClusterID.none)
        for expected in [UInt64(5), 10] {
            var configuration = NodeConfiguration.local(journal: journals.source)
            configuration.changesRole = true
            let primary = try Node(configuration)
            let port = try primary.attach(name: "left") { SumState() }
            let sums = try await withRunning(primary) { try await port.add([5]) }
            #expect(sums == [expected])
        }
        #expect(journals.content(of: "left")?.identity?.cluster != ClusterID.none)
    }

    /// A journal with entries of another cluster, and a configured cluster that is another, end the node, with an error that
    /// names both clusters and both places; nothing is thrown away (PROTOCOL R-1, R-9).
    @Test
    func whatDoesNotBelongTogetherEndsTheNode() async throws {
        let journals = KeptLogs()
        let (old, new) = (try Self.primary(), try Self.primary())
        let port = try old.attach(name: "left") { SumState() }
        _ = try new.attach(name: "left") { SumState() }
        try await withRunning(old) {
            _ = try await port.add([5])
            let replica = try Node(.replica(of: try await old.listening(), journal: journals.source))
            let copy = try replica.attach(name: "left") { SumState() }
            try await withRunning(replica) { try await until { try await copy.status().phase == .live } }
        }
        let cluster = try #require(journals.content(of: "left")?.identity?.cluster)
        try await withRunning(new) {
            let endpoint = try await new.listening()
            let other = try #require(try await new.status().cluster)
            let foreign = try Node(.replica(of: endpoint, journal: journals.source))
            _ = try foreign.attach(name: "left") { SumState() }
            let error = await #expect(throws: LockstepError.self) { try await foreign.run() }
            #expect(error?.code == .journalForeign)
            for part in [endpoint, other, "\(cluster)", "kept", "ends at", "--replica-of"] {
                #expect(error?.message.contains(part) == true, "\(part) in: \(error?.message ?? "")")
            }
            var configuration = NodeConfiguration.client(of: endpoint)
            configuration.cluster = cluster
            let client = try Node(configuration)
            _ = try client.attachRemote(name: "left")
            let refusal = await #expect(throws: LockstepError.self) { try await client.run() }
            #expect(refusal?.code == .invalidConfiguration)
            for part in [endpoint, other, "\(cluster)"] { #expect(refusal?.message.contains(part) == true) }
        }
        #expect(journals.content(of: "left")?.end ?? .zero > .zero)
    }

    /// A primary of another version of the protocol ends the node, with an error that names its address and both versions
    /// (PROTOCOL R-9).
    @Test
    func anotherVersionEndsTheNode() async throws {
        let primary = try FakePrimary(refusingAs: FrameHeader.wireVersion + 1)
        defer { primary.end() }
        let replica = try Node(.replica(of: primary.endpoint, journal: KeptLogs().source))
        _ = try replica.attach(name: "left") { SumState() }
        let error = await #expect(throws: LockstepError.self) { try await replica.run() }
        #expect(error?.code == .refused)
        let versions = ["version \(FrameHeader.wireVersion + 1) ", "version \(FrameHeader.wireVersion))"]
        for part in [primary.endpoint, "the same version of the program"] + versions {
            #expect(error?.message.contains(part) == true, "\(part) in: \(error?.message ?? "")")
        }
    }

    /// Once a node was welcomed, a refusal is an alarm: what it holds is served on (PROTOCOL R-1, R-9).
    @Test
    func aRefusalAfterAWelcomeIsAnAlarm() async throws {
        // Two nodes after each other at one address, which the system gives to nobody else.
        let endpoint = "tcp://127.0.0.1:\(FreePorts.next())"
        let first = try Node(.primary(listen: endpoint, journal: .memory))
        let port = try first.attach(name: "left") { SumState() }
        let running = Task { try await first.run() }
        _ = try await port.add([5])
        let replica = try Node(.replica(of: endpoint, journal: KeptLogs().source))
        let copy = try replica.attach(name: "left") { SumState() }
        try await withRunning(replica) {
            try await until { try await copy.status().phase == .live }
            running.cancel()
            try await running.value
            let second = try Node(.primary(listen: endpoint, journal: .memory))
            _ = try second.attach(name: "left") { SumState() }
            try await withRunning(second) {
                try await until { try await copy.status().alarms.contains { $0.text.contains("refuses") } }
                let answer = try await copy.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
                #expect(try SumState.sum(answer.answer) == 5)
            }
        }
    }

    private static func primary() throws -> Node { try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory)) }
}

import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing
import ZeroMQ

/// What became of a node and of its honest clients while hostile peers were there.
struct Ordeal {
    /// Increments a second without the hostile peers, and with them.
    var alone: Double
    var during: Double
    /// The longest that one call of an honest client took, in seconds.
    var longest: Double
    /// The longest that a new client took to connect, to open a session and to have its first answers, in seconds.
    var opening: Double
    /// How far the node's resident memory came above what it was before, in bytes.
    var growth: Int

    /// An honest client keeps a fifth of its rate, on two cores of which the flood itself takes one; 0.53 was the least
    /// that was seen at a primary, with a flood of HELLOs.
    static let smallestShare = 0.2
    /// Both are far below those of the program, and far above what was seen.
    static let longestWait = 5.0
    static let longestOpening = 5.0
    /// The resend window, libzmq's queues and the rings are in this, and what the allocator keeps of a burst.
    ///
    /// 72 MiB were seen at a primary, and 137 at a data node.
    static let largestGrowth = 288 << 20
    /// The same with messages that do not end, of which a connection on loopback brings some 400 MiB before it is ended.
    ///
    /// In 40 s of them a node had 1.1 GiB at most, and in the seconds of a test 568 MiB.
    static let largestGrowthWithoutEnd = 1 << 30

    /// What an honest client keeps at least, and how far memory may grow.
    var share = Self.smallestShare
    var room = Self.largestGrowth

    var isSlow: Bool { during < alone * share }
    var complaints: [String] {
        var complaints: [String] = []
        if isSlow { complaints.append("\(Int(during))/s of \(Int(alone))/s are left") }
        if longest > Self.longestWait { complaints.append("a call took \(longest) s") }
        if opening > Self.longestOpening { complaints.append("a new client waited \(opening) s") }
        if growth > room { complaints.append("memory grew by \(growth >> 20) MiB") }
        return complaints
    }
}

extension IntegrationTests {
    /// What a client had that asks for 64 at a time.
    struct Work {
        var count = 0
        var seconds = 0.0
        var longest = 0.0
        var opening = 0.0
        var perSecond: Double { Double(count) / max(seconds, 0.001) }

        mutating func add(_ part: Work) {
            count += part.count
            seconds += part.seconds
            longest = max(longest, part.longest)
            opening = max(opening, part.opening)
        }
    }

    /// Adds until a moment, as one client, or does something else 64 times.
    static func work(
        _ endpoint: String, until end: ContinuousClock.Instant,
        _ part: (RemoteStore<Counters>) async throws -> Void = { try await Bench.add(64, to: $0, prefix: "h/") }
    ) async throws -> Work {
        try await Bench.withClient(of: endpoint) { counters in
            var work = Work()
            repeat {
                let begin = ContinuousClock.now
                try await part(counters)
                let taken = begin.duration(to: .now) / .seconds(1)
                work.add(Work(count: 64, seconds: taken, longest: taken, opening: work.count == 0 ? taken : 0))
            } while ContinuousClock.now < end
            return work
        }
    }

    static func attack(
        _ kind: String, port: Int, seconds: Double, log: String, _ more: [String] = []
    ) throws -> ChildProcess {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "hostile_peers.py")
        return try ChildProcess(
            kind, "/usr/bin/env",
            ["python3", script.path, kind, "--port", "\(port)", "--seconds", "\(seconds)"] + more, log: log)
    }

    /// `VmRSS` or `VmHWM` (the most that it ever was) of a process, in bytes.
    private static func memory(_ process: Int32, _ field: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(field) })
        return 1_024 * (try #require(Int(line.split(whereSeparator: \.isWhitespace)[1])))
    }

    /// A low rate, and nothing else to complain of.
    struct LowRate: Error {}

    /// What else the machine does may look like harm: a low rate counts if it is seen with other nodes, too.
    static func twice(_ body: (_ isLast: Bool) async throws -> Void) async throws {
        do {
            try await body(false)
        } catch is LowRate {
            print("once more, with other nodes")
            try await body(true)
        }
    }

    /// What each node's honest clients and memory suffered; throws ``LowRate`` if that is all, unless this is the last
    /// of two tries.
    static func judge(
        _ kind: String, _ nodes: [ChildProcess], alone: Work, after: Work, during: Work, before: [Int], said: String,
        share: Double = Ordeal.smallestShare, isLast: Bool = true
    ) throws {
        // What else the machine does is not the peers': the lower rate counts, as long as it is no lasting harm.
        let quiet = max(alone.perSecond / 2, min(alone.perSecond, after.perSecond))
        let room = kind == "endless" ? Ordeal.largestGrowthWithoutEnd : Ordeal.largestGrowth
        #expect(said.contains(/sent [1-9]/), "\(kind) did not work: \(said)")
        var isLow = false
        for (index, (node, before)) in zip(nodes, before).enumerated() {
            #expect(node.isRunning, "\(kind) ended node \(index)")
            let ordeal = Ordeal(
                alone: quiet, during: during.perSecond, longest: during.longest, opening: during.opening,
                growth: try Self.memory(node.identifier, "VmHWM") - before, share: share, room: room)
            print(
                "\(kind), node \(index): \(said.split(separator: "\n").last ?? ""); \(Int(ordeal.during))/s of "
                    + "\(Int(ordeal.alone))/s, longest \(ordeal.longest) s, new client \(ordeal.opening) s, "
                    + "memory +\(ordeal.growth >> 20) MiB")
            if !isLast, ordeal.isSlow, ordeal.complaints.count == 1 {
                isLow = true
            } else {
                #expect(ordeal.complaints == [], "\(kind), node \(index)")
            }
        }
        if isLow { throw LowRate() }
    }

    /// The primary and the replicas.
    static func nodes(_ cluster: ProcessCluster) throws -> [ChildProcess] {
        try (0...cluster.replicas).map { try #require(cluster.child($0)) }
    }

    /// `VmRSS` of nodes, in bytes.
    static func memory(of nodes: [ChildProcess]) throws -> [Int] {
        try nodes.map { try memory($0.identifier, "VmRSS") }
    }

    /// The alarms that some kinds must raise, and no other kind may.
    private static let expectedAlarms = ["replicas": "DUPLICATE_NODE", "sessions": "SESSIONS_NEAR_LIMIT"]

    /// No kind of hostile peer stops a node of the default two stores, takes its memory, or keeps an honest client from
    /// working and a new one from getting in; after each the node serves as before (PROTOCOL R-10, R-19, R-54, R-55,
    /// R-39).
    @Test(arguments: [
        ("subscriptions", 6.0), ("tiny", 4.5), ("frames", 4.5), ("endless", 4.5), ("hellos", 3.0), ("idle", 8.0),
        ("replicas", 7.0), ("sessions", 3.0),
    ])
    func hostilePeersHarmNobody(kind: String, seconds: Double) async throws {
        try await Self.twice { try await Self.harmNobody(kind, seconds, isLast: $0) }
    }

    private static func harmNobody(_ kind: String, _ seconds: Double, isLast: Bool) async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let alone = try await Self.work(cluster.endpoint(0), until: .now + .seconds(1.5))
            let before = try Self.memory(of: Self.nodes(cluster))

            let log = cluster.folder + "/hostile.log"
            let hostile = try Self.attack(kind, port: cluster.port, seconds: seconds, log: log)
            defer { hostile.end(SIGKILL) }
            var during = Work()
            var alarms: Set<String> = []
            repeat {
                during.add(try await Self.work(cluster.endpoint(0), until: .now + .seconds(1)))
                let status = try await cluster.node(0).decodedStatus(timeout: .seconds(5))
                alarms.formUnion(status.stores.flatMap(\.alarms).map(\.name))
            } while hostile.isRunning
            let after = try await Self.work(cluster.endpoint(0), until: .now + .seconds(1.5))
            #expect(alarms == Set([Self.expectedAlarms[kind]].compactMap { $0 }))
            try Self.judge(
                kind, Self.nodes(cluster), alone: alone, after: after, during: during, before: before,
                said: try String(contentsOfFile: log, encoding: .utf8), isLast: isLast)
            if kind == "sessions" {
                // As the alarm's page says; the oldest of them live for seven days.
                let closed = try Bench.lockstep("sessions", "close", "--data", cluster.node(0).path, "--unused")
                #expect(closed.status == 0, "\(closed)")
            }
            _ = try await cluster.waitUntilEqual()
            let later = try await Self.work(cluster.endpoint(0), until: .now + .seconds(1))
            #expect(later.longest < Ordeal.longestWait, "after \(kind) a call takes \(later.longest) s")
            _ = try await cluster.waitUntilEqual()
            try await Bench.wait("the alarms to end") {
                try await cluster.node(0).decodedStatus().stores.allSatisfy { $0.alarms.isEmpty }
            }
        }
    }

    /// Starts a new replica, waits until it is live, ends it, and returns how long that took, in seconds.
    private static func join(_ name: String, _ cluster: ProcessCluster) async throws -> Double {
        let folder = NodeFolder(cluster.folder + "/" + name)
        let made = try Bench.lockstep("init", "--data", folder.path, "--node", name, "--cluster", cluster.cluster)
        #expect(made.status == 0)
        let begin = ContinuousClock.now
        let joiner = try ChildProcess(
            name, Bench.program,
            [
                "serve", "--data", folder.path, "--replica-of", cluster.endpoint(0), "--listen",
                "tcp://127.0.0.1:\(Bench.ports(10))",
            ], log: cluster.folder + "/\(name).log")
        defer { joiner.end(SIGKILL) }
        try await Bench.wait("\(name) to be live", seconds: 45) { await folder.isReady() }
        return begin.duration(to: .now) / .seconds(1)
    }

    /// Twenty that ask for a snapshot again and again, and fetch nothing, do not keep a new replica out, which needs
    /// one too; nor clients from working (PROTOCOL R-32).
    @Test func loopingJoinersKeepNobodyOut() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            // So long a tail, of so few names, that a snapshot is cheaper.
            try await Bench.withClient(of: cluster.endpoint(0)) { counters in
                try await Bench.add(
                    24_000, to: counters, prefix: String(repeating: "h", count: 200) + "/", keys: 16)
            }
            func snapshots() async throws -> UInt64 {
                let stores = try await cluster.node(0).decodedStatus(timeout: .seconds(5)).stores
                return stores.first { $0.name == "counters" }?.counters["snapshots_served"] ?? 0
            }
            let alone = try await Self.work(cluster.endpoint(0), until: .now + .seconds(1.5))
            let before = try Self.memory(of: Self.nodes(cluster))
            let joinedAlone = try await Self.join("joiner-1", cluster)

            let log = cluster.folder + "/hostile.log"
            let hostile = try Self.attack("joins", port: cluster.port, seconds: 60, log: log)
            defer { hostile.end(SIGKILL) }
            // All places are taken, and were taken again.
            let (served, beginning) = (try await snapshots(), ContinuousClock.now)
            try await Bench.wait("the looping joiners") { try await snapshots() >= served + 8 }
            let held = beginning.duration(to: .now) / .seconds(1)
            let joined = try await Self.join("joiner-2", cluster)
            let during = try await Self.work(cluster.endpoint(0), until: .now + .seconds(1.5))
            #expect(hostile.isRunning)
            hostile.end(SIGTERM)
            let after = try await Self.work(cluster.endpoint(0), until: .now + .seconds(1.5))
            print("joins: live after \(joined) s, alone \(joinedAlone) s; eight places were taken in \(held) s")
            #expect(joined < joinedAlone + 12)
            try Self.judge(
                "joins", Self.nodes(cluster), alone: alone, after: after, during: during, before: before,
                said: try String(contentsOfFile: log, encoding: .utf8))
            _ = try await cluster.waitUntilEqual()
        }
    }

    /// Two live nodes of one name raise an alarm at the primary, which ends when one of them does (PROTOCOL R-55).
    @Test func aCopiedFolderRaisesAnAlarm() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let copy = cluster.folder + "/copy"
            let made = try Bench.lockstep(
                "init", "--data", copy, "--node", ProcessCluster.name(1), "--cluster", cluster.cluster)
            #expect(made.status == 0)
            let second = try ChildProcess(
                "copy", Bench.program,
                ["serve", "--data", copy, "--replica-of", cluster.endpoint(0), "--listen", cluster.endpoint(2)],
                log: cluster.folder + "/copy.log")
            defer { second.end(SIGKILL) }
            func duplicates() async throws -> Int {
                try await cluster.node(0).decodedStatus().stores.flatMap(\.alarms).filter {
                    $0.kind == .duplicateNode && $0.text.contains("replica-1")
                }.count
            }
            try await Bench.wait("the alarm of both stores") { try await duplicates() == 2 }
            second.end(SIGKILL)
            try await Bench.wait("the end of the alarm") { try await duplicates() == 0 }
            // A restart is none.
            for _ in 0..<3 {
                cluster.end(1, signal: SIGKILL)
                try cluster.start(1)
                try await cluster.waitUntilReady()
                #expect(try await duplicates() == 0)
            }
        }
    }

    /// The judge and the peers of ``hostilePeersHarmNobody`` find a publisher that has no bound: a plain XPUB.
    @Test func hostilePeersHarmAPlainPublisher() async throws {
        let folder = try Bench.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let port = Bench.ports()
        let context = try Context()
        var publisher = try Socket<XPublisher>(in: context)
        try publisher.bind(to: "tcp://127.0.0.1:\(port + 1)")
        let poller = Poller<Bool>()
        poller.add(publisher, as: true)
        let own = ProcessInfo.processInfo.processIdentifier
        let before = try Self.memory(own, "VmRSS")
        let hostile = try Self.attack("subscriptions", port: port, seconds: 8, log: folder + "/hostile.log")
        defer { hostile.end(SIGKILL) }
        var message = ZeroMQ.Message()
        var (longest, count) = (0.0, 0)
        let begin = ContinuousClock.now
        while hostile.isRunning {
            let turn = ContinuousClock.now
            try publisher.publish([1, 2, 3])
            var taken = 0
            while taken < 1_000, try publisher.receive(into: &message) != nil { taken += 1 }
            count += 1
            // Whatever it calls, libzmq reads the subscriptions in it.
            try poller.wait(timeout: .milliseconds(1))
            longest = max(longest, turn.duration(to: .now) / .seconds(1))
        }
        let passed = begin.duration(to: .now) / .seconds(1)
        let ordeal = Ordeal(
            alone: 900, during: Double(count) / passed, longest: longest, opening: 0,
            growth: try Self.memory(own, "VmHWM") - before)
        print("a plain XPUB: longest \(longest) s, memory +\(ordeal.growth >> 20) MiB: \(ordeal.complaints)")
        #expect(ordeal.growth > Ordeal.largestGrowth)
        // A turn should take a millisecond.
        #expect(ordeal.longest > 0.5)
    }

    /// The checker checked: a rate that is low with other nodes, too, is an issue.
    @Test func hostilePeersAreFoundBySecondTry() async throws {
        let node = try ChildProcess("node", "/bin/sleep", ["60"], log: "/dev/null")
        defer { node.end(SIGKILL) }
        let (alone, during) = (Work(count: 1_000, seconds: 1), Work(count: 100, seconds: 1))
        var tries: [Bool] = []
        try await Self.twice { isLast in
            tries.append(isLast)
            func judge() throws {
                try Self.judge(
                    "nothing", [node], alone: alone, after: alone, during: during, before: [0], said: "sent 1",
                    isLast: isLast)
            }
            if isLast { withKnownIssue { try judge() } } else { try judge() }
        }
        #expect(tries == [false, true])
    }
}

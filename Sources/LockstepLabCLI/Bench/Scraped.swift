import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer
import Synchronization

extension BenchCase {
    /// What a scrape each second and an open console cost a primary.
    static let scraped = BenchCase(name: "scraped", title: Scraped.title, isLong: true) {
        try await Scraped(setting: $0).run()
    }
}

/// P1's load on a primary whose metrics are read each second and whose console is open, and on one without HTTP.
struct Scraped {
    static let title = "the commit rate of a primary that is scraped each second, with a console open"

    let setting: BenchSetting
    private var sizes: BenchSizes { setting.sizes }
    private var port: Int { setting.port + 140 }

    /// What one measurement found.
    private struct Measurement {
        var perSecond = 0.0
        /// Microseconds an increment.
        var primary = 0.0
    }

    func run() async throws -> BenchResult {
        var (plain, scraped): ([Measurement], [Measurement]) = ([], [])
        var reads = ReadCount.Counts()
        for round in 1...sizes.rounds {
            setting.say("scraped, round \(round) of \(sizes.rounds): without HTTP")
            plain.append(try await measure(.serve) { _ in })
            setting.say("scraped, round \(round) of \(sizes.rounds): scraped, and a console open")
            let count = ReadCount()
            scraped.append(
                try await measure(NodeCommand(["serve", "--http", "127.0.0.1:\(port)"])) { isOver in
                    Self.read(at: port, count, isOver)
                })
            reads = count.all
            guard reads.scrapes > 0, reads.events > 0 else {
                throw CommandFailure("nothing was read: \(reads.scrapes) scrapes, \(reads.events) events")
            }
        }
        let figures = [
            BenchFigure(
                "increments, scraped", scraped.map(\.perSecond), "/s", peer: ("without HTTP", plain.map(\.perSecond)),
                goal: .ratioAtLeast(0.99)),
            BenchFigure(
                "CPU of the primary, scraped", scraped.map(\.primary), "us an increment",
                peer: ("without HTTP", plain.map(\.primary))),
        ]
        var result = BenchResult(
            ("scraped", Self.title), figures,
            [
                BenchResult.Participant(
                    name: "lockstep", durability: "synced before each answer", replicas: "1 with a journal",
                    load: "65,536 in flight, /metrics each second, /api/events open",
                    checked: "the sum of all counters; that scrapes and events came"),
                BenchResult.Participant(
                    name: "without HTTP", durability: "the same", replicas: "the same", load: "the same, nobody reads",
                    checked: "the sum of all counters"),
            ])
        result.notes.append("in the last round: \(reads.scrapes) scrapes, \(reads.events) reads of events")
        return result
    }

    /// One round; `readers` run on threads of their own until the load has ended.
    private func measure(
        _ command: NodeCommand, _ readers: @escaping @Sendable (ReadCount.End) -> Void
    ) async throws -> Measurement {
        try await BenchCluster.with(setting, replicas: 1, start: false) { cluster in
            try cluster.start(0, command)
            try cluster.start(1)
            try await cluster.waitUntilReady()
            return try await Program.withRemoteCounters(.client(of: cluster.endpoint(0))) { counters in
                _ = try await counters.send(.add("warm-up", by: 1))
                let end = ReadCount.End()
                readers(end)
                defer { end.come() }
                let before = cluster.processorSeconds[0]
                let report = try await Load(
                    increments: counters, tasks: 256, chunk: 256, counters: sizes.counters
                ).send(sizes.actions)
                let used = cluster.processorSeconds[0] - before
                try await counters.checkSum(report.actions)
                return Measurement(perSecond: report.perSecond, primary: used / Double(report.actions) * 1_000_000)
            }
        }
    }

    /// Begins to read as Prometheus and a browser do.
    private static func read(at port: Int, _ count: ReadCount, _ end: ReadCount.End) {
        Thread.detachNewThread {
            let request = "GET /api/events HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n"
            // Without a connection nothing is counted, and the case fails.
            guard let events = try? LoopbackClient(port: port), (try? events.write(Array(request.utf8))) != nil else {
                return
            }
            // The node ends the connection when it ends.
            while (try? events.read()) != nil { count.readEvent() }
        }
        Thread.detachNewThread {
            while !end.hasCome {
                // A scrape that fails is not counted, and without any the case fails.
                if let client = try? LoopbackClient(port: port), (try? client.http("/metrics")) != nil {
                    count.scraped()
                }
                Thread.sleep(forTimeInterval: 1)
            }
        }
    }
}

/// How often somebody read.
private final class ReadCount: Sendable {
    struct Counts {
        var scrapes = 0
        var events = 0
    }

    /// Whether the readers are to end.
    final class End: Sendable {
        private let flag = Mutex(false)
        var hasCome: Bool { flag.withLock { $0 } }
        func come() { flag.withLock { $0 = true } }
    }

    private let counts = Mutex(Counts())
    var all: Counts { counts.withLock { $0 } }
    func scraped() { counts.withLock { $0.scrapes += 1 } }
    func readEvent() { counts.withLock { $0.events += 1 } }
}

import LockstepCore
import LockstepNode
import Testing

/// Configurations that are refused, each with one line that says what to change.
struct ConfigurationTests {
    private func problem(_ configuration: NodeConfiguration) -> LockstepError? {
        do {
            _ = try Node(configuration)
            return nil
        } catch {
            return error as? LockstepError
        }
    }

    @Test(arguments: [
        "", "127.0.0.1:7400", "tcp://127.0.0.1", "tcp://:7400", "tcp://127.0.0.1:port", "tcp://127.0.0.1:70000",
        "tcp://127.0.0.1:+74", "tcp://::1:7400", "ipc:///tmp/x:1", "tcp://a/b:7400", "tcp:/", "tcp://:",
    ])
    func endpointsInAnotherFormAreRefused(_ text: String) {
        let error = problem(.primary(listen: text, journal: .memory))
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("tcp://HOST:PORT") ?? false)
        #expect(problem(.client(of: text))?.code == .invalidConfiguration)
    }

    /// PROTOCOL, section 10: plain text stays on this host unless somebody says so.
    @Test
    func plainTextBetweenHostsIsRefused() throws {
        let error = problem(.primary(listen: "tcp://0.0.0.0:7400", journal: .memory))
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("allowsPlaintext") ?? false)
        #expect(problem(.replica(of: "tcp://10.0.0.1:7400"))?.code == .invalidConfiguration)
        #expect(problem(.client(of: "tcp://db.example.org:7400"))?.code == .invalidConfiguration)
        var allowed = NodeConfiguration.client(of: "tcp://10.0.0.1:7400")
        allowed.allowsPlaintext = true
        #expect(problem(allowed) == nil)
        #expect(problem(.client(of: "tcp://[::1]:7400")) == nil)
        #expect(problem(.client(of: "tcp://localhost:7400")) == nil)
    }

    @Test
    func portsThatAreNotFreeForListeningAreRefused() throws {
        #expect(problem(.primary(listen: "tcp://127.0.0.1:65534", journal: .memory))?.code == .invalidConfiguration)
        guard let range = TCPEndpoint.ephemeralPorts, range.lowerBound > 1_024 else { return }
        let reaching = range.lowerBound - 2
        #expect(
            problem(.primary(listen: "tcp://127.0.0.1:\(reaching)", journal: .memory))?.message.contains(
                "ip_local_port")
                ?? false)
        #expect(problem(.primary(listen: "tcp://127.0.0.1:\(range.lowerBound - 3)", journal: .memory)) == nil)
        #expect(problem(.client(of: "tcp://127.0.0.1:0"))?.code == .invalidConfiguration)
        #expect(problem(.client(of: "tcp://*:7400"))?.code == .invalidConfiguration)
    }

    @Test
    func contradictionsAreRefused() throws {
        let own = NodeConfiguration.replica(of: "tcp://127.0.0.1:7400", listen: "tcp://localhost:7400")
        #expect(problem(own)?.message.contains("replica of itself") ?? false)
        var brief = NodeConfiguration.client(of: "tcp://127.0.0.1:7400")
        brief.sessionTimeToLive = .milliseconds(10)
        #expect(problem(brief)?.code == .invalidConfiguration)
        var deep = NodeConfiguration.local()
        deep.administrationFolder = "/tmp/" + String(repeating: "x", count: 100)
        #expect(problem(deep)?.message.contains("107") ?? false)
    }

    /// PROTOCOL R-91: several nodes are 1 to 16 different addresses, each of which a single one might be, and none the own.
    @Test
    func severalNodesAreChecked() throws {
        let many = (0..<17).map { "tcp://127.0.0.1:\(7400 + 10 * $0)" }
        #expect(problem(.client(of: Array(many.prefix(16)))) == nil)
        #expect(problem(.replica(of: Array(many.prefix(2)), listen: "tcp://127.0.0.1:8000")) == nil)
        for (nodes, part) in [
            ([], "name 1 to 16"), (many, "name 1 to 16"), ([many[0], many[0]], "twice"),
            ([many[0], "tcp://localhost:7400"], "twice"), ([many[0], "127.0.0.1:7410"], "tcp://HOST:PORT"),
            ([many[0], "tcp://10.0.0.1:7400"], "loopback"), ([many[0], "tcp://127.0.0.1:0"], "cannot be connected"),
        ] {
            let message = try #require(problem(.client(of: nodes))?.message)
            #expect(message.contains(part), "\(message)")
            #expect(problem(.replica(of: nodes))?.code == .invalidConfiguration)
        }
        #expect(problem(.replica(of: [many[1], many[0]], listen: many[0]))?.message.contains("of itself") ?? false)
    }

    @Test
    func storesAreCheckedWhenTheyAreMade() throws {
        let node = try Node(.local())
        _ = try node.attach(name: "sum") { SumState() }
        #expect(throws: LockstepError.self) { try node.attach(name: "sum") { SumState() } }
        #expect(throws: LockstepError.self) { try node.attach(name: "") { SumState() } }
        #expect(throws: LockstepError.self) { try node.attach(name: "a b") { SumState() } }
        #expect(throws: LockstepError.self) { try node.attachRemote(name: "other") }
        let client = try Node(.client(of: "tcp://127.0.0.1:7400"))
        #expect(throws: LockstepError.self) { try client.attach(name: "sum") { SumState() } }
    }

    /// PROTOCOL R-15.
    @Test
    func aClockFarFromTheLogIsRefused() throws {
        let last = LogTime(rawValue: 1_700_000_000_000_000)
        func check(_ offset: Duration, accepts: Bool = false) -> Bool {
            do {
                try ClockRule.check(of: "sum", last: last, wall: last.advanced(by: offset), accepts: accepts)
                return true
            } catch {
                return (error as? LockstepError)?.code != .clockRefused
            }
        }
        #expect(check(.seconds(7 * 86_400)))
        #expect(!check(.seconds(7 * 86_400 + 1)))
        #expect(check(.seconds(-3_600)))
        #expect(!check(.seconds(-3_601)))
        #expect(check(.seconds(-86_400), accepts: true))
        try ClockRule.check(of: "sum", last: .zero, wall: last, accepts: false)
    }

    /// A peer that listens on every interface is reached where it was reached before.
    @Test
    func wildcardsAreReplacedByTheHostThatWasReached() throws {
        let connected = try TCPEndpoint("tcp://10.1.2.3:7400", use: "test")
        #expect(TCPEndpoint.reachable("tcp://*:7401", through: connected) == "tcp://10.1.2.3:7401")
        #expect(TCPEndpoint.reachable("tcp://0.0.0.0:7401", through: connected) == "tcp://10.1.2.3:7401")
        #expect(TCPEndpoint.reachable("tcp://10.9.9.9:7401", through: connected) == "tcp://10.9.9.9:7401")
        #expect(TCPEndpoint.reachable("nonsense", through: connected) == "nonsense")
    }

    @Test
    func namesAreMadeFromTheHost() {
        let (one, other) = (NodeConfiguration.local().node, NodeConfiguration.local().node)
        #expect(one != other)
    }
}

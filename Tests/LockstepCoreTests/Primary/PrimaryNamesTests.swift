import LockstepCore
import Testing

/// Two live nodes of one name raise an alarm at the primary (PROTOCOL R-55).
@Suite struct PrimaryNamesTests {
    private let one = Connection(rawValue: 1)
    private let two = Connection(rawValue: 2)
    private let three = Connection(rawValue: 3)

    /// Replicas say HELLO again and again, each on its connection, as live ones do.
    private func live(
        _ primary: PrimaryHarness, seconds: Int, _ replicas: (connection: Connection, node: String, boot: UInt128)...
    ) {
        for _ in 0..<seconds {
            for replica in replicas {
                primary.hello(replica.connection, role: .replica, node: replica.node, boot: replica.boot)
            }
            primary.pass(milliseconds: 1_000)
        }
    }

    /// Goal: the alarm names both once, stays while both live, and ends when one is gone (PROTOCOL R-55).
    @Test func twoLiveReplicasOfOneNameRaiseAnAlarm() {
        let primary = PrimaryHarness.open()
        live(primary, seconds: 10, (one, "r1", 1), (two, "r1", 2), (three, "r2", 3))
        #expect(primary.alarms == [.duplicateNodes(["r1"])])
        live(primary, seconds: 10, (one, "r1", 1), (three, "r2", 3))
        #expect(primary.alarms == [.duplicateNodes(["r1"]), .duplicateNodes([])])
        live(primary, seconds: 10, (one, "r1", 1), (two, "r1", 2), (three, "r1", 3))
        #expect(primary.alarms.count == 3)
    }

    /// Goal: a replica that restarts at once, connects anew, or has several connections, is one node (PROTOCOL R-55).
    @Test func aRestartIsNoSecondNode() {
        let primary = PrimaryHarness.open()
        for boot in UInt128(1)...20 {
            let connection = Connection(rawValue: 100 + UInt64(boot))
            live(primary, seconds: Int(boot) % 7 + 1, (connection, "r1", boot))
        }
        live(primary, seconds: 10, (one, "r1", 50), (two, "r1", 50))
        #expect(primary.alarms == [])
        // What a process sent before its end is read late, after the HELLO of the one that follows it.
        primary.hello(three, role: .replica, node: "r1", boot: 51)
        primary.pass(milliseconds: 1_500)
        primary.hello(one, role: .replica, node: "r1", boot: 50)
        live(primary, seconds: 10, (three, "r1", 51))
        // A network that heals brings more of it, for a while.
        live(primary, seconds: 2, (three, "r1", 51), (one, "r1", 50))
        live(primary, seconds: 10, (three, "r1", 51))
        #expect(primary.alarms == [])
    }

    /// Goal: clients may share a name, and so may a client and a replica; a replica with the primary's own may not
    /// (PROTOCOL R-55).
    @Test func onlyNodesOfTheLogCount() {
        let primary = PrimaryHarness.open()
        for _ in 0..<10 {
            primary.hello(one, node: "r1", boot: 1)
            primary.hello(two, node: "r1", boot: 2)
            live(primary, seconds: 1, (three, "r1", 3))
        }
        #expect(primary.alarms == [])
        let own = primary.machine.configuration.node
        live(primary, seconds: 10, (three, own, 3))
        #expect(primary.alarms == [.duplicateNodes([own])])
        primary.pass(milliseconds: 10_000)
        #expect(primary.alarms == [.duplicateNodes([own]), .duplicateNodes([])])
    }
}

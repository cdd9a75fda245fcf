import Foundation
import LockstepCore
import LockstepNode
import LockstepServer
import Testing

/// What `cluster status` says of a store, from its record and from who is listed (PROTOCOL R-75).
@Suite struct StorePictureTests {
    private static let cluster = ClusterID(rawValue: 4 << 64)
    private static let store = StoreID(cluster: cluster, name: "counters")

    private static func member(_ number: UInt8) throws -> Member {
        Member(node: try #require(NodeID("node-\(number)")), incarnation: Incarnation(rawValue: UInt128(number)))
    }

    private static func address(
        _ number: UInt8, boot: UInt128 = 1, _ troubles: [NodeAddress.Trouble] = []
    ) throws -> NodeAddress {
        let member = try member(number)
        return NodeAddress(
            node: member.node, boot: BootID(rawValue: boot), endpoints: ["tcp://10.0.0.\(number):7400"],
            journals: [.init(store: store, incarnation: member.incarnation)]
        ).with(troubles)
    }

    /// Of a record with two members, of which the first is the primary.
    private static func picture(_ nodes: [NodeAddress]) throws -> StorePicture {
        let first = ConfigurationRecord(
            cluster: cluster, store: store, channel: Channel(rawValue: 1), epoch: Epoch(rawValue: 2),
            primary: .init(member: try member(1), boot: BootID(rawValue: 1), endpoints: []),
            openedAfter: .start(of: store), minimum: 1, attempt: AttemptID(rawValue: 1))
        let record = first.adding(try member(2), attempt: AttemptID(rawValue: 2))
        return StorePicture(store: "counters", id: store, record: record, nodes: nodes)
    }

    @Test func aStoreWhoseNodesAreListedIsWell() throws {
        let picture = try Self.picture([Self.address(1), Self.address(2)])
        #expect(picture.unreadiness == nil && picture.notes.isEmpty)
    }

    /// A member that has halted is not well, however the record counts it, and its reason is shown.
    @Test func aHaltedMemberIsShownWithItsReason() throws {
        let halt = NodeAddress.Trouble(store: nil, text: "ahead: what counters knows is not in its primary's log")
        let picture = try Self.picture([Self.address(1), Self.address(2, [halt])])
        #expect(picture.unreadiness == "node-2 has halted: \(halt.text)")
        #expect(picture.notes == ["! node node-2 has halted: \(halt.text)"])
        let json = String(decoding: try JSONEncoder().encode(picture), as: UTF8.self)
        #expect(json.contains(#""isHalted":true"#) && json.contains(#""unlisted":[{"#))
    }

    /// The primary's process does not run any more once it has halted.
    @Test func aHaltedPrimaryIsNotListed() throws {
        let halt = NodeAddress.Trouble(store: nil, text: "journalFailed: input/output error")
        let picture = try Self.picture([Self.address(1, [halt]), Self.address(2)])
        #expect(picture.unreadiness?.contains("node-1 has halted") == true)
        #expect(picture.notes.contains { $0.contains("primary node-1: not listed") })
    }

    /// An alarm of a node is shown with the store that has it, and with no other.
    @Test func anAlarmKeepsAStoreFromBeingWell() throws {
        let other = NodeAddress.Trouble(store: StoreID(cluster: Self.cluster, name: "other"), text: "DISK_FULL: no")
        let alarm = NodeAddress.Trouble(store: Self.store, text: "DIVERGED: own digest at 7 is 1, the primary's 2")
        let picture = try Self.picture([Self.address(1, [other]), Self.address(2, [alarm])])
        #expect(picture.unreadiness == "counters at node-2: \(alarm.text)")
        #expect(picture.notes == ["! node node-2: \(alarm.text)"])
    }
}

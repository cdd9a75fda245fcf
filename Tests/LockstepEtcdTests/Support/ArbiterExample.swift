import LockstepCore
import LockstepNode
import Synchronization

/// What a test has seen so far, in several tasks.
final class Seen<Element: Sendable>: Sendable {
    private let state = Mutex<[Element]>([])
    var all: [Element] { state.withLock { $0 } }
    func note(_ element: Element) { state.withLock { $0.append(element) } }
}

/// Records and addresses that the tests of arbiters share.
///
/// A class, so that closures capture one word of it (decision 0033, on the compiler).
final class ArbiterExample: Sendable {
    let cluster: ClusterID
    let store: String

    init(store: String = "orders") {
        var generator = SystemRandomNumberGenerator()
        cluster = ClusterID(using: &generator)
        self.store = store
    }

    static func member(_ number: Int) -> Member {
        guard let node = NodeID("node-\(number)") else { preconditionFailure("it is a name") }
        return Member(node: node, incarnation: Incarnation(rawValue: UInt128(number)))
    }

    static func attempt() -> AttemptID {
        var generator = SystemRandomNumberGenerator()
        return AttemptID(using: &generator)
    }

    /// The first record of a store.
    func record(of name: String? = nil, channel: UInt16 = 3) -> ConfigurationRecord {
        ConfigurationRecord(
            cluster: cluster, store: StoreID(cluster: cluster, name: name ?? store),
            channel: Channel(rawValue: channel),
            epoch: Epoch(rawValue: 1),
            primary: .init(member: Self.member(1), boot: BootID(rawValue: 7), endpoints: ["tcp://10.0.0.1:7400"]),
            openedAfter: Position(epoch: .zero, sequence: .zero, hash: .none), minimum: 1, attempt: Self.attempt())
    }

    /// An attempt that adds a member.
    func adding(_ number: Int, to stored: StoredRecord) -> RecordAttempt {
        RecordAttempt(
            replacing: stored, with: stored.record.adding(Self.member(number), attempt: Self.attempt()))
    }

    static func address(_ number: Int, boot: UInt128 = 1) -> NodeAddress {
        NodeAddress(
            node: member(number).node, boot: BootID(rawValue: boot), endpoints: ["tcp://10.0.0.\(number):7400"],
            journals: [.init(store: StoreID(rawValue: 5), incarnation: Incarnation(rawValue: 6))])
    }

    /// Creates the record of the store, and reads it.
    func created(in arbiter: any Arbiter) async throws -> StoredRecord {
        let first = record()
        guard case .created(let revision) = await arbiter.create(first, of: store, within: .seconds(10)) else {
            throw ArbiterError(.refused, "the record was not created")
        }
        return StoredRecord(first, revision: revision)
    }
}

package import LockstepCore
internal import Synchronization

/// The stores that were attached to a node before it runs, and what was asked of it from other threads.
package final class StoreRegistry: Sendable {
    private let stores = Mutex(Stores())
    private let stopRequest = Atomic<UInt8>(0)

    /// A store that was attached; without a state on a node that is a client.
    package struct Attached: Sendable {
        package var port: StorePort
        package var makeState: (@Sendable () -> any ReplicatedState)?
    }

    private struct Stores: Sendable {
        var attached: [Attached] = []
        var isClosed = false
    }

    package enum StopRequest: UInt8, Hashable, Sendable {
        case none = 0
        /// Callers get their answers if they come soon.
        case graceful = 1
        case immediate = 2
    }

    /// Stores of one node; each costs a channel.
    package static let storeBound = 1_024

    package init() {}

    package func add(
        _ name: String, signaller: NodeEventLoop.Signaller, executor: (any RunExecutor)? = nil,
        makeState: (@Sendable () -> any ReplicatedState)?
    ) throws -> StorePort {
        guard NodeID(name) != nil else {
            throw LockstepError(
                .invalidConfiguration,
                "\"\(name)\" cannot name a store: use 1 to \(Limits.nameBytes) letters, digits, -, _ and .")
        }
        return try stores.withLock { stores in
            guard !stores.isClosed else {
                throw LockstepError(.invalidConfiguration, "the node runs already: make store \(name) before run()")
            }
            guard !stores.attached.contains(where: { $0.port.name == name }) else {
                throw LockstepError(.invalidConfiguration, "the node has a store named \(name) already")
            }
            guard stores.attached.count < Self.storeBound else {
                throw LockstepError(.invalidConfiguration, "a node has at most \(Self.storeBound) stores")
            }
            let port = StorePort(name: name, inbox: Inbox(signaller: signaller), executor: executor)
            stores.attached.append(Attached(port: port, makeState: makeState))
            return port
        }
    }

    /// Takes the stores; nothing more can be attached.
    ///
    /// False the second time.
    package func take() -> [Attached]? {
        stores.withLock { stores in
            guard !stores.isClosed else { return nil }
            stores.isClosed = true
            return stores.attached
        }
    }

    /// The node is gone: whoever still waits is told, also for stores that it never opened.
    package func end() {
        let attached = stores.withLock { stores in
            stores.isClosed = true
            return stores.attached
        }
        for store in attached {
            store.port.end(StoreHost.stopped)
            store.port.executor?.ended()
        }
    }

    package var stop: StopRequest { StopRequest(rawValue: stopRequest.load(ordering: .acquiring)) ?? .none }

    /// Asks the node to stop; a stronger request replaces a weaker one.
    package func requestStop(_ request: StopRequest) {
        _ = stopRequest.max(request.rawValue, ordering: .acquiringAndReleasing)
    }
}

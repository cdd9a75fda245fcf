import Foundation
public import LockstepNode

/// Which node a command asks that holds no state itself, and for how long it waits.
public struct AskedNode: ParsableArguments {
    /// The node's address, or those of several nodes, with commas between them.
    @Option(
        help: """
            A node: tcp://HOST:PORT, or several with commas between them; also LOCKSTEP_NODE. A replica answers reads and \
            names its primary.
            """)
    public var node: String = Self.usual
    /// Seconds to wait.
    @Option(help: "Seconds to wait for the outcome: 0.001 to 86400.", transform: Within.patience)
    public var timeout: Double = 10
    /// Whether to talk without encryption to another host.
    @Flag(help: "Allow plain text to other hosts.")
    public var insecure = false
    /// By which keys.
    @OptionGroup public var keyOptions: KeyOptions

    /// Read from the command line.
    public init() {}

    /// The node that is asked where none is named.
    package static var usual: String {
        ProcessInfo.processInfo.environment["LOCKSTEP_NODE"] ?? "tcp://127.0.0.1:7400"
    }

    /// How long to wait.
    public var patience: Duration { Within.duration(timeout) }

    /// The configuration of a client of the node.
    ///
    /// - Throws: ``LockstepError`` or ``CommandFailure`` if a file of keys cannot be used.
    public var configuration: NodeConfiguration {
        get throws {
            var configuration = NodeConfiguration.client(of: parseNodes(node))
            configuration.allowsPlaintext = insecure
            configuration.sessionTimeToLive = Program.sessionTimeToLive
            try keyOptions.apply(to: &configuration)
            return configuration
        }
    }

    /// Runs a client of the node for as long as `body` uses a store.
    ///
    /// If no node answers within a second, it says on standard error what it waits for.
    ///
    /// - Parameters:
    ///   - reactor: The type of the store's reactor.
    ///   - name: The store's name.
    ///   - body: Sends and asks.
    /// - Returns: What `body` returns.
    /// - Throws: ``LockstepError``, and what `body` throws.
    public func withStore<R: Reactor, Value>(
        _ reactor: R.Type, named name: String, _ body: (RemoteStore<R>) async throws -> Value
    ) async throws -> Value {
        try await Program.withRemoteOnceLive(reactor, named: name, try configuration, body)
    }

    /// The same for one question: it says what it waits for as long as there is no answer to that.
    package func withOneAnswer<R: Reactor, Value>(
        _ reactor: R.Type, named name: String, _ body: (RemoteStore<R>) async throws -> Value
    ) async throws -> Value {
        try await Program.withRemote(reactor, named: name, try configuration, body)
    }

    /// Runs what sends; an outcome that stays unknown names the command that asks for it.
    package func naming<Server: LockstepServer, Value>(
        _ server: Server.Type, store: String, _ body: () async throws -> Value
    ) async throws -> Value {
        try await OutcomeCommand<Server>.naming(
            node: node, store: store, insecure: insecure, keys: keyOptions, body)
    }
}

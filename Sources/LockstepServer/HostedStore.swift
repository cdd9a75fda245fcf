import LockstepConsole
public import LockstepNode
public import Logging
public import ServiceLifecycle

/// A store that a program hosts: its name, its reactor, and what runs beside it.
public struct HostedStore<ServeOptions: ParsableArguments> {
    /// The name under which nodes have the store: 1 to 64 letters, digits, `-`, `_` and `.`.
    public let name: String
    /// Makes a reactor for commands that read: they apply mutations and answer queries, and decide no action.
    let makeReader: () throws -> any Reactor
    /// Whose types its entries, states and queries are.
    let type: any Reactor.Type
    /// Puts the store on a node that serves; what has to run beside the node, and what its console shows.
    let attach: (Serving) throws -> (services: [any Service], shown: ConsoleStore)
    /// The words in which `outcome` shows a reply; nil: as JSON.
    private(set) var replyForm: ReplyForm?

    /// Whether `init` makes it only if it is named.
    private(set) var isOnRequest = false

    typealias ReplyForm = (_ reply: [UInt8], Place, SessionID, RequestNumber) -> ShownReply?

    /// Where a store is served, and what `serve` was told.
    struct Serving {
        let node: Node
        let configuration: NodeConfiguration
        let options: ServeOptions
        let logger: Logger
    }

    /// A store whose reactor needs nothing of the command line.
    ///
    /// - Parameters:
    ///   - name: Its name, on all nodes.
    ///   - reactor: What it does; made anew for each command that needs it.
    public init<R: Reactor>(_ name: String, _ reactor: @autoclosure @escaping () throws -> R) {
        self.name = name
        type = R.self
        makeReader = reactor
        attach = { serving in
            ([], ConsoleStore(try serving.node.store(try reactor(), named: name)))
        }
    }

    /// A store whose reactor is made from the options of `serve`, or that brings services.
    ///
    /// - Parameters:
    ///   - name: Its name, on all nodes.
    ///   - reader: A reactor for commands that only read. It decides no action, so it may lack what it would need for one.
    ///   - host: Makes the store on a node that serves, with ``Hosting/store(_:)``, and the services that run beside
    ///     the node. At a graceful shutdown they are told to end before the node is, which waits for them, so each must
    ///     end by itself then: put a loop over its store into `cancelWhenGracefulShutdown`.
    public init<R: Reactor>(
        _ name: String, reader: @autoclosure @escaping () throws -> R,
        host: @escaping (Hosting<R, ServeOptions>) throws -> (store: Store<R>, services: [any Service])
    ) {
        self.name = name
        type = R.self
        makeReader = reader
        attach = { serving in
            let hosted = try host(Hosting(name: name, serving: serving))
            return (hosted.services, ConsoleStore(hosted.store))
        }
    }

    /// The same store, which `init` makes only if it is named.
    package func onRequest() -> HostedStore {
        var store = self
        store.isOnRequest = true
        return store
    }

    /// The same store, whose replies `outcome` shows in words of the program's own.
    package func showingReplies<R: Reactor>(
        of reactor: R.Type, _ form: @escaping (Receipt<R.Reply>) -> ShownReply
    ) -> HostedStore {
        var store = self
        store.replyForm = { bytes, place, session, number in
            // Another version's reply is shown as its bytes.
            guard let reply = try? R.replyCoding.decoded(bytes) else { return nil }
            return form(Receipt(reply: reply, place: place, session: session, number: number))
        }
        return store
    }
}

/// A store that is about to be served.
public struct Hosting<R: Reactor, ServeOptions: ParsableArguments> {
    let name: String
    let serving: HostedStore<ServeOptions>.Serving

    /// How the node is configured.
    public var configuration: NodeConfiguration { serving.configuration }
    /// The options of `serve` that are the program's own.
    public var options: ServeOptions { serving.options }
    /// The node's logger.
    public var logger: Logger { serving.logger }

    /// Puts the store on the node, under its name.
    ///
    /// - Parameter reactor: What the store does.
    /// - Returns: The store, for the services beside it.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` if the node cannot have it.
    public func store(_ reactor: R) throws -> Store<R> { try serving.node.store(reactor, named: name) }
}

/// A reply in words of the program's own.
package struct ShownReply {
    /// The name of its field in JSON.
    package let key: String
    /// What the field has.
    package let value: any Encodable
    /// The line of text.
    package let text: String

    package init(key: String, value: any Encodable, text: String) {
        self.key = key
        self.value = value
        self.text = text
    }
}

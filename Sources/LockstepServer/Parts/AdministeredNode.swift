import Foundation
import LockstepFolders
import LockstepNode

/// The node that a command gives orders.
struct OrderedNode: ParsableArguments {
    @Option(help: "The running primary's folder.")
    var data: String?
    @Option(help: "The primary's address, of any host: tcp://HOST:PORT. It takes a key of the role admin.")
    var node: String?
    @OptionGroup var keyOptions: KeyOptions

    func validate() throws {
        guard (data == nil) != (node == nil) else {
            throw ValidationError("name the primary's folder with --data, or its address with --node")
        }
    }

    /// Asks the node; an answer with an error is thrown.
    func ask(_ request: some Encodable) async throws -> Data {
        let command = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        if let node {
            let keys = try LinkKeys(try keyOptions.nodeKeys()).all(for: node)
            return try await WaitNotice.during("an answer of the node at \(node)") {
                try Self.checked(
                    try await AdministrationClient.ask(at: node, command: command, keys: keys, timeout: .seconds(5)))
            }
        }
        return try await NodeFolder(data ?? "").order(request)
    }

    /// The answer, unless it says that the node did not do it.
    static func checked(_ answer: Data) throws -> Data {
        if let failure = try? JSONDecoder().decode([String: String].self, from: answer), let text = failure["error"] {
            guard failure[PassingRefusal.key] == nil else {
                throw LockstepError(.administration, text, underlying: PassingRefusal())
            }
            throw CommandFailure(text, status: .failed)
        }
        return answer
    }
}

extension NodeFolder {
    /// Asks the node that runs in this folder; an answer with an error is thrown.
    func order(_ request: some Encodable) async throws -> Data {
        let command = String(decoding: try JSONEncoder().encode(request), as: UTF8.self)
        return try await WaitNotice.during("an answer of the node in \(path)") {
            try OrderedNode.checked(try await ask(command))
        }
    }
}

/// The node that a command gives an order, and the store that the order is about.
struct AdministeredNode<Server: LockstepServer>: ParsableArguments {
    @OptionGroup var ordered: OrderedNode
    @Option(help: "The store.")
    var store: String = Server.stores.usual

    /// Asks the node; an answer with an error is thrown.
    func ask(_ request: some Encodable) async throws -> Data { try await ordered.ask(request) }
}

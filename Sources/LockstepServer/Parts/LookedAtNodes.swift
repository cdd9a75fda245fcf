import Foundation
import LockstepFolders
import LockstepNode

/// Which nodes a command looks at.
struct LookedAtNodes: ParsableArguments {
    @Option(help: "The folder of a node of this host; may be repeated.")
    var data: [String] = []
    @Option(help: "A node of any host: tcp://HOST:PORT; may be repeated.")
    var node: [String] = []
    @OptionGroup var keyOptions: KeyOptions

    func validate() throws {
        guard !places.isEmpty else {
            throw ValidationError("name a node's folder with --data, or its address with --node")
        }
    }

    /// By which keys nodes elsewhere are asked; none if none are named, or only nodes of this host are asked.
    func linkKeys() throws -> LinkKeys { try LinkKeys(node.isEmpty ? nil : try keyOptions.nodeKeys()) }

    /// Where they are, in the order in which they were named, those of this host first.
    var places: [NodeLocation] { data.map { .folder($0) } + node.map { .address($0) } }
}

/// Where a node is asked.
enum NodeLocation: Hashable, Sendable {
    case folder(String)
    case address(String)

    /// As the user named it.
    var name: String {
        switch self {
        case .folder(let name), .address(let name): name
        }
    }

    /// In words.
    var text: String {
        switch self {
        case .folder(let path): "the node in \(path)"
        case .address(let address): "the node at \(address)"
        }
    }

    /// Asks the node, for two seconds at most; digests are taken on this host only.
    func look(by keys: LinkKeys, digests: Bool = false) async -> NodeLook {
        switch self {
        case .folder(let path): return NodeLook(path, await NodeFolder(path).status(digests: digests))
        case .address(let address):
            do {
                let answer = try await AdministrationClient.ask(at: address, keys: try keys.all(for: address))
                return NodeLook(address, .success(answer))
            } catch {
                return NodeLook(address, .failure(error))
            }
        }
    }
}

/// What one question to a node came to.
struct NodeLook {
    let path: String
    var bytes: Data?
    var status: NodeStatus?
    var failure: CommandFailure?
    /// In the table, in place of a phase.
    var word = ""

    init(_ path: String, _ answer: Result<Data, any Error>) {
        self.path = path
        do {
            let bytes = try answer.get()
            status = try JSONDecoder().decode(NodeStatus.self, from: bytes)
            self.bytes = bytes
        } catch let error as LockstepError {
            failure = CommandFailure(describing: error)
            word =
                switch error.underlying as? AdministrationFailure {
                case .notRunning: "not running"
                case .forbidden: "no permission"
                case .silent: "does not answer"
                case nil: "unknown"
                }
        } catch {
            failure = CommandFailure("\(path): the node is of another version, its status cannot be read")
            word = "unknown"
        }
    }

    /// Why nobody should rely on the node yet; nil if all is well.
    var unreadiness: String? {
        if let failure { return failure.message }
        return status?.unreadiness
    }
}

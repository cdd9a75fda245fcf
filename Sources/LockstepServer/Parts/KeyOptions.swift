import Foundation
public import LockstepNode

/// By which keys a command talks to nodes that have some.
public struct KeyOptions: ParsableArguments {
    /// The command's own key file.
    @Option(help: "Your key file, where the nodes have keys; also LOCKSTEP_KEYS.")
    public var keys: String?
    /// The nodes and their public keys.
    @Option(help: "The nodes and their public keys, as \"keys export\" wrote them; also LOCKSTEP_NODES.")
    public var nodes: String?

    /// Read from the command line.
    public init() {}

    /// Both files, wherever they are named; nil: none is.
    private func files() throws -> (keys: String, nodes: String)? {
        let environment = ProcessInfo.processInfo.environment
        func file(_ named: String?, _ variable: String) -> String? {
            (named ?? environment[variable]).flatMap { $0.isEmpty ? nil : $0 }
        }
        switch (file(keys, "LOCKSTEP_KEYS"), file(nodes, "LOCKSTEP_NODES")) {
        case (nil, nil): return nil
        case (let keys?, let nodes?): return (keys, nodes)
        case (nil, _?):
            throw CommandFailure("there is a file of nodes and none of your keys: name it with --keys", status: .usage)
        case (_?, nil):
            throw CommandFailure(
                "there is a file of your keys and none of the nodes: name it with --nodes", status: .usage)
        }
    }

    /// The keys; nil if no files are named, neither by an option nor by a variable.
    ///
    /// - Throws: ``CommandFailure`` if only one of the two is named, ``LockstepError`` if one cannot be used.
    public func nodeKeys() throws -> NodeKeys? { try read()?.keys }

    /// Lets a configuration have the keys, and the cluster of the nodes that they are for.
    ///
    /// A replica gets the name of its keys, under which alone its primary takes it.
    ///
    /// - Parameter configuration: Of a client or a replica.
    /// - Throws: ``CommandFailure`` if only one of the two files is named, ``LockstepError`` if one cannot be used.
    public func apply(to configuration: inout NodeConfiguration) throws {
        guard let (file, keys, list) = try read() else { return }
        configuration.keys = keys
        configuration.cluster = list.cluster ?? configuration.cluster
        if case .replica = configuration.role { configuration.node = try parseNode(file.name) }
    }

    private func read() throws -> (file: KeyFile, keys: NodeKeys, list: AccessList)? {
        guard let files = try files() else { return nil }
        let file = try KeyFile(reading: files.keys)
        let access = AccessFile(path: files.nodes)
        // Read here, so that a file that cannot be used ends the command with its line.
        return (file, NodeKeys(own: file.pair, access: access), try access.read())
    }

    /// The options as they were given, for a command that is shown.
    var words: String {
        [keys.map { " --keys \($0.shellWord)" }, nodes.map { " --nodes \($0.shellWord)" }].compactMap { $0 }.joined()
    }
}

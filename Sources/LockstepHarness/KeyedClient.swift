package import LockstepNode

/// A client of a cluster with keys: it has a key file of its own, and the file of the nodes.
package struct KeyedClient {
    /// The paths of its key file and of the file of the nodes.
    package let key: String
    package let nodes: String
    package let cluster: ProcessCluster

    /// Makes the keys by the commands, and lets the name in unless it has no role.
    ///
    /// - Throws: What a command failed with.
    package init(_ name: String, _ role: String?, of cluster: ProcessCluster) throws {
        self.cluster = cluster
        key = cluster.folder + "/\(name).key"
        nodes = cluster.folder + "/nodes.json"
        _ = try ChildProcess.output(cluster.program, ["keys", "new", name, "--to", key])
        if let role {
            _ = try ChildProcess.output(
                cluster.program,
                ["keys", "allow", name, "--key", key, "--role", role, "--access", cluster.accessList])
        }
        try export()
    }

    /// Writes the file of the nodes anew.
    package func export() throws {
        _ = try ChildProcess.output(
            cluster.program, ["keys", "export", "--access", cluster.accessList, "--to", nodes])
    }

    /// The options of a command.
    package var words: [String] { ["--keys", key, "--nodes", nodes] }

    /// A client of one of the nodes, with the keys that the files have now.
    package func configuration(_ index: Int) throws -> NodeConfiguration {
        var configuration = NodeConfiguration.client(of: cluster.endpoint(index))
        configuration.keys = NodeKeys(own: try KeyFile(reading: key).pair, access: AccessFile(path: nodes))
        return configuration
    }
}

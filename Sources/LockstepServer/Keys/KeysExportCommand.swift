import Foundation
import LockstepFolders
import LockstepNode

/// `keys export`: the one file that clients need of a cluster.
struct KeysExportCommand<Server: LockstepServer>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export",
            abstract: "Writes what clients need: the nodes, where they are, and their public keys.",
            discussion: """
                The file has the nodes of the access list that have an address, and the cluster's ID if it is known. Nothing \
                in it is secret, but whoever may change it can make a client talk to another node. A command takes it as \
                --nodes, beside a key file of its own as --keys.

                  \(Server.name) keys export --data data/primary --to nodes.json
                  \(Server.name) keys export --access access.json --cluster 0123456789abcdef0123456789abcdef --to nodes.json
                """)
    }

    @OptionGroup var list: AccessListPlace
    @Option(help: "The cluster's ID. Default: that of the list, or of the node of --data.")
    var cluster: String?
    @Option(help: "The file, which is replaced if it is there. Default: standard output.")
    var to: String?

    func run() throws {
        let all = try list.read()
        let named = try cluster.map(parseCluster)
        let own = try list.data.map { try parseCluster(try NodeFolder($0).identity().cluster) }
        let known = [named, own, all.cluster].compactMap { $0 }
        guard Set(known).count <= 1 else {
            throw CommandFailure(
                "the list and the node are of different clusters: \(known.map { "\($0)" }.joined(separator: ", "))")
        }
        let nodes = all.entries.filter { $0.address != nil && $0.roles.contains(.node) }.map {
            AccessList.Entry(name: $0.name, keys: $0.keys, roles: [.node], address: $0.address)
        }
        guard !nodes.isEmpty else {
            throw CommandFailure(
                "no node of the list has an address: say where it listens, with \"keys allow NAME --address tcp://HOST:PORT\""
            )
        }
        let bytes = try AccessList(nodes, cluster: known.first).json
        guard let to else { return Output.line(String(decoding: bytes.dropLast(), as: UTF8.self)) }
        try EditedFile.change(to) { _ in Data(bytes) }
        Output.line("\(to): \(nodes.count == 1 ? "1 node" : "\(nodes.count) nodes")")
    }
}

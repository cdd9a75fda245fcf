/// The keys of a folder's node, where not the folder names them, but the node's configuration does.
struct NodeKeyOptions<Server: LockstepServer>: ParsableArguments {
    @Option(help: "The key file of a node that runs. Default: the one that \"\(Server.name) init\" noted.")
    var keys: String?
    @Option(help: "The access list of a node that runs. Default: the one that \"\(Server.name) init\" noted.")
    var access: String?
}

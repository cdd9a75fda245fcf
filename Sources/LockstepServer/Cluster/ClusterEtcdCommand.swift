#if Etcd
    import LockstepFolders

    /// `cluster etcd`: the addresses of etcd that the folder of a data node notes.
    struct ClusterEtcdCommand<Server: LockstepServer>: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "etcd", abstract: "Changes which members of etcd the folder of a data node notes.",
                discussion: """
                    For an etcd whose members have other addresses or certificates than before. Say it in the folder of each \
                    data node; a node goes by it from its next start on. etcd is not asked, and nothing is copied: a new etcd \
                    is empty, and its records are made anew with "cluster rebind" when all nodes note it.

                      \(Server.name) cluster etcd --data data/node-a --etcd http://127.0.0.1:2379
                    """)
        }

        @Option(help: "The folder of the data node.")
        var data: String
        @OptionGroup(title: "etcd") var etcd: EtcdOptions

        func run() throws {
            let folder = NodeFolder(data)
            var identity = try folder.identity()
            guard identity.etcd != nil else { throw ClusterPlace.noDataNode(folder) }
            guard let noted = try etcd.noted(in: folder) else {
                throw ValidationError("name the members of etcd with --etcd URL")
            }
            let names = noted.endpoints.joined(separator: ", ")
            guard identity.etcd != noted else {
                Output.line("\(folder.path) notes the etcd at \(names) already: nothing was changed")
                return
            }
            identity.etcd = noted
            try folder.write(identity)
            Output.line("\(folder.path) notes the etcd at \(names); its node goes by it from its next start on")
        }
    }
#endif

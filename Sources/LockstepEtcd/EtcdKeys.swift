#if Etcd
    import Foundation
    import LockstepCore

    /// The keys that a cluster has in etcd.
    ///
    ///     PREFIX/CLUSTER/stores/NAME      the configuration record of a store
    ///     PREFIX/CLUSTER/channels/NUMBER  the name of the store that has this channel
    ///     PREFIX/CLUSTER/nodes/NAME       the address of a node, under its lease
    ///
    /// Names of nodes and stores have no slash, so no key is two things.
    struct EtcdKeys: Hashable, Sendable {
        let stores: Data
        let channels: Data
        let nodes: Data

        init(prefix: String, cluster: ClusterID) {
            stores = Data("\(prefix)/\(cluster)/stores/".utf8)
            channels = Data("\(prefix)/\(cluster)/channels/".utf8)
            nodes = Data("\(prefix)/\(cluster)/nodes/".utf8)
        }

        func record(_ store: String) -> Data { stores + Data(store.utf8) }
        func channel(_ channel: Channel) -> Data { channels + Data(String(channel.rawValue).utf8) }
        func node(_ node: NodeID) -> Data { nodes + Data(node.name.utf8) }

        /// The first key after all that begin with `folder`, which ends with a slash.
        static func end(of folder: Data) -> Data { folder.dropLast() + [UInt8(ascii: "/") + 1] }

        /// What follows `folder` in a key; nil if the key is elsewhere, or is no text.
        static func name(_ key: Data, in folder: Data) -> String? {
            key.starts(with: folder) ? String(validating: key.dropFirst(folder.count), as: UTF8.self) : nil
        }

        /// The channel that a key is of; only as it is written here.
        func channel(of key: Data) -> Channel? {
            guard let name = Self.name(key, in: channels), let number = UInt16(name), String(number) == name else {
                return nil
            }
            return Channel(rawValue: number)
        }
    }
#endif

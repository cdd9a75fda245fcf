import LockstepCore
#if Etcd
    import LockstepEtcd
#endif
import LockstepFolders
import LockstepNode

/// The etcd of a data node's folder.
extension NodeFolder {
    /// What a folder notes of an etcd, checked with its files, without asking it.
    ///
    /// - Throws: ``LockstepError`` that says what to change, ``CommandFailure`` without the trait Etcd.
    func check(_ etcd: Identity.Etcd) throws {
        #if Etcd
            try configuration(etcd).check()
        #else
            throw Self.lacksTrait
        #endif
    }

    /// The arbiter of a data node's folder, which the caller closes.
    ///
    /// - Throws: As ``check(_:)``.
    func arbiter(_ etcd: Identity.Etcd, cluster: ClusterID) throws -> any Arbiter {
        #if Etcd
            try EtcdArbiter(configuration(etcd), cluster: cluster)
        #else
            throw Self.lacksTrait
        #endif
    }

    /// The configuration of a folder's data node.
    ///
    /// - Throws: As ``check(_:)``.
    func dataNode(
        _ node: NodeID, _ etcd: Identity.Etcd, listen: String, journal: JournalSource
    ) throws -> NodeConfiguration {
        #if Etcd
            .dataNode(node, listen: listen, journal: journal, etcd: configuration(etcd))
        #else
            throw Self.lacksTrait
        #endif
    }

    #if Etcd
        private func configuration(_ etcd: Identity.Etcd) -> EtcdConfiguration {
            var configuration = EtcdConfiguration(
                endpoints: etcd.endpoints, authority: etcd.authority.map(resolved),
                certificate: etcd.certificate.map(resolved), key: etcd.key.map(resolved))
            if let prefix = etcd.prefix { configuration.prefix = prefix }
            configuration.allowsPlaintext = etcd.plaintext ?? false
            return configuration
        }
    #else
        private static var lacksTrait: CommandFailure {
            CommandFailure(
                "this program was built without the trait Etcd, which data nodes need: where its Package.swift depends "
                    + "on Lockstep, add traits: [\"Etcd\"]; Lockstep's own program is built with --traits Etcd",
                status: .usage)
        }
    #endif
}

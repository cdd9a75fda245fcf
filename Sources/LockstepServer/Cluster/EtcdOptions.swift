import LockstepFolders
import LockstepNode

/// Which etcd a folder is told to note: it makes the node a data node.
struct EtcdOptions: ParsableArguments {
    @Option(help: "The members of the etcd that keeps the records of data nodes, https://HOST:PORT[,...].")
    var etcd: String?
    @Option(help: "The file of certificates of the authority that signed those of etcd's members; for https.")
    var etcdAuthority: String?
    @Option(help: "The file of this node's client certificate; for https.")
    var etcdCertificate: String?
    @Option(help: "The file of that certificate's secret key, which only the node's user may read; for https.")
    var etcdKey: String?
    @Flag(help: "Allow http beyond loopback addresses: only in a network that you trust.")
    var etcdPlaintext = false

    func validate() throws {
        guard etcd != nil || (etcdAuthority == nil && etcdCertificate == nil && etcdKey == nil && !etcdPlaintext) else {
            throw ValidationError(
                "--etcd-authority, --etcd-certificate, --etcd-key and --etcd-plaintext go with --etcd URL: name it")
        }
    }

    /// What the folder notes of the etcd, which was checked and not asked; nil if none is named.
    ///
    /// - Throws: ``LockstepError`` that says what to change, ``CommandFailure`` without the trait Etcd.
    func noted(in folder: NodeFolder) throws -> NodeFolder.Identity.Etcd? {
        guard let etcd else { return nil }
        let noted = NodeFolder.Identity.Etcd(
            endpoints: etcd.split(separator: ",", omittingEmptySubsequences: false).map(String.init),
            authority: etcdAuthority.map(folder.noted), certificate: etcdCertificate.map(folder.noted),
            key: etcdKey.map(folder.noted), plaintext: etcdPlaintext ? true : nil)
        try folder.check(noted)
        return noted
    }
}

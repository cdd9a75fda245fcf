package import LockstepNode

/// The keys of the node of a folder.
extension NodeFolder {
    /// The key file that is named, or else the one that the folder notes; and the same of the access list.
    ///
    /// What the folder notes must be there: a node that has keys never serves without them.
    ///
    /// - Parameters:
    ///   - identity: What the folder notes.
    ///   - keys: A key file in place of the noted one.
    ///   - access: An access list in place of the noted one.
    /// - Returns: The keys; nil if neither is named nor noted.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` if one is missing, cannot be used, or is somebody else's.
    package func keys(of identity: Identity, keys: String? = nil, access: String? = nil) throws -> NodeKeys? {
        let files = (keys ?? identity.keys.map(resolved), access ?? identity.access.map(resolved))
        switch files {
        case (nil, nil): return nil
        case (nil, _?):
            throw LockstepError(
                .invalidConfiguration, "the node has an access list and no keys: name its key file with --keys")
        case (_?, nil):
            throw LockstepError(
                .invalidConfiguration, "the node has keys and no access list: name the list with --access")
        case (let keys?, let access?):
            let file = try KeyFile(reading: keys)
            guard file.name == identity.node else {
                throw LockstepError(
                    .invalidConfiguration,
                    "\(keys) has the keys of \(file.name), and this node is \(identity.node): each node has its own")
            }
            let list = AccessFile(path: access)
            // Read here, so that a list that cannot be used is said before anything is opened.
            let cluster = try list.read().cluster.map { "\($0)" }
            guard cluster == nil || cluster == identity.cluster else {
                throw LockstepError(
                    .invalidConfiguration, "\(access) is the list of another cluster than that of the node in \(path)")
            }
            return NodeKeys(own: file.pair, access: list)
        }
    }
}

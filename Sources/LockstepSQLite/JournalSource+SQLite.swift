public import LockstepNode

extension JournalSource {
    /// A durable journal in `folder`, with one SQLite file for each store.
    ///
    /// The folder must be on a local file system and belongs to one node: a second process on it is refused. With
    /// `create` it is made, with mode 0700, and so is the journal of a store that has none; without, a missing journal
    /// is an error, so that a node never starts empty because a path was wrong.
    public static func sqlite(at folder: String, create: Bool = false) -> JournalSource {
        var source = JournalSource(description: "sqlite at \(folder)") { request in
            try SQLiteJournal(folder: folder, request: request, create: create)
        }
        source.folder = folder
        return source
    }
}

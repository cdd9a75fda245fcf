package import LockstepCore

extension JournalRole {
    /// What a journal says of itself; none of a new one, or of one that was made before roles were noted.
    package init?(notedIn journal: any Journal) throws {
        guard let role = try journal.note(.role).flatMap(JournalRole.init(rawValue:)) else { return nil }
        self = role
    }

    /// Refuses a journal of the other role, unless its node was told to change it.
    ///
    /// It is asked before anything is read or written, so that a refused folder is as it was.
    package func check(_ journal: any Journal, from source: JournalSource, changesRole: Bool) throws {
        guard !journal.isVolatile, let noted = try JournalRole(notedIn: journal),
            !mayServe(noted: noted, changesRole: changesRole)
        else { return }
        let folder = source.folder?.shellWord ?? "FOLDER"
        let store = journal.identity.storeName
        let advice =
            switch self {
            case .primary:
                "serve it with --replica-of, or make it the primary's with `lockstep promote --data \(folder)`"
            case .replica:
                "serve it without --replica-of; for a replica in its place make a new folder with `lockstep init`, or, "
                    + "if another primary goes on, `lockstep demote --data \(folder)`"
            }
        throw LockstepError(
            .wrongRole,
            "The journal of \(store) (\(source.description)) is a \(noted)'s, and this node would be a \(self): "
                + "\(advice) (\(SettingName.role.property)).")
    }

    /// Notes the role of a journal that is nobody's yet.
    package func noteIfNone(in journal: any Journal) throws {
        if try JournalRole(notedIn: journal) == nil { try note(in: journal) }
    }

    /// Notes the role in which a journal is served from now on, if it says anything else.
    package func note(in journal: any Journal) throws {
        guard !journal.isVolatile, try JournalRole(notedIn: journal) != self else { return }
        try journal.setNote(.role, to: rawValue)
    }
}

extension KnownPosition {
    /// How a position stands in a note: `epoch:sequence:hash:boot`.
    package var noteText: String { "\(position):\(boot)" }

    /// Reads ``noteText``; hash and boot may be missing.
    package init?(noteText: String) {
        let parts = noteText.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2 || parts.count == 4, let epoch = UInt64(parts[0]), let sequence = UInt64(parts[1])
        else { return nil }
        var known = KnownPosition(
            position: Position(
                epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence), hash: .none),
            boot: .none)
        if parts.count == 4 {
            guard let hash = BatchHash(hexadecimal: String(parts[2])), let boot = BootID(hexadecimal: String(parts[3]))
            else { return nil }
            known.position.hash = hash
            known.boot = boot
        }
        self = known
    }
}

import GRDB
import LockstepCore
import LockstepNode

// The facts of an arbitrated journal, which no other has (PROTOCOL, R-84, R-85).
extension JournalMeta.Key {
    /// The mark: the end at adoption, as a ``KnownPosition/noteText``.
    static let arbitrated = JournalMeta.Key(name: "arbitrated")
    /// The commit number.
    static let committed = JournalMeta.Key(name: "committed")
    /// The epoch that was promised.
    static let promised = JournalMeta.Key(name: "promised")
    /// What the arbiter was last seen to say: `revision:number:epoch:boot`, the boot in hexadecimal digits.
    static let arbiter = JournalMeta.Key(name: "arbiter")
}

extension JournalMeta {
    /// What an arbitrated journal knows; nil without the mark.
    ///
    /// - Throws: ``JournalFinding`` for facts that say nothing, or that only make sense beside the mark.
    func arbitration() throws -> JournalArbitration? {
        guard let mark = self[.arbitrated] else {
            guard self[.committed] == nil, self[.promised] == nil, self[.arbiter] == nil else {
                throw JournalFinding(.meta, .zero, "it has the facts of an arbitrated journal, and no mark")
            }
            return nil
        }
        guard let adopted = KnownPosition(noteText: mark)?.position,
            let committed = number(.committed, or: 0), let promised = number(.promised, or: 0),
            let arbiter = ArbiterMemory(fact: self[.arbiter] ?? ArbiterMemory().fact)
        else { throw JournalFinding(.meta, .zero, "what the journal knows of its arbiter cannot be read") }
        var arbitration = JournalArbitration(adopted: adopted)
        arbitration.committed = SequenceNumber(rawValue: committed)
        arbitration.promised = self[.promised] == nil ? nil : Epoch(rawValue: promised)
        arbitration.arbiter = arbiter
        return arbitration
    }

    /// As ``arbitration()``, of a file whose header says this version: both must say the same.
    func arbitration(version: Int64) throws -> JournalArbitration? {
        let arbitration = try arbitration()
        guard (version == JournalSchema.arbitratedVersion) == (arbitration != nil) else {
            throw JournalFinding(
                .meta, .zero,
                "the header says schema \(version), but the journal is \(arbitration == nil ? "not " : "")arbitrated")
        }
        return arbitration
    }

    private func number(_ key: Key, or other: UInt64) -> UInt64? {
        guard let text = self[key] else { return other }
        return UInt64(text)
    }
}

extension JournalArbitration {
    /// Writes the mark and all that goes with it.
    func write(to db: Database) throws {
        let mark = KnownPosition(position: adopted, boot: .none).noteText
        try JournalMeta.write(mark, for: .arbitrated, to: db)
        try JournalMeta.write(String(committed.rawValue), for: .committed, to: db)
        try JournalMeta.write(promised.map { String($0.rawValue) }, for: .promised, to: db)
        try JournalMeta.write(arbiter.fact, for: .arbiter, to: db)
    }

    /// Takes away what ``write(to:)`` writes.
    static func remove(from db: Database) throws {
        for key in [JournalMeta.Key.arbitrated, .committed, .promised, .arbiter] {
            try JournalMeta.write(nil, for: key, to: db)
        }
    }
}

extension ArbiterMemory {
    fileprivate var fact: String { "\(revision):\(number):\(epoch.rawValue):\(boot)" }

    /// Also reads a fact without a boot, which says nothing of whose the epoch is.
    fileprivate init?(fact: String) {
        let parts = fact.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3 || parts.count == 4, let revision = Int64(parts[0]), let number = UInt64(parts[1]),
            let epoch = UInt64(parts[2]),
            let boot = parts.count == 3 ? BootID.none : BootID(hexadecimal: String(parts[3]))
        else { return nil }
        self.init(revision: revision, number: number, epoch: Epoch(rawValue: epoch), boot: boot)
    }
}

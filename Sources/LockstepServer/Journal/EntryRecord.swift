import LockstepCore

/// One entry of a journal as `journal dump` prints it.
package struct EntryRecord: Encodable {
    var store: String
    var sequence: UInt64
    var epoch: UInt64
    var time: Int64
    var kind: String
    /// The hash at the end of the batch that holds the entry.
    var batchHash: String
    var session: String?
    /// Who opened the session, by the access list; nil if nobody is named.
    var sender: String?
    var number: UInt64?
    var status: String?
    /// As text if the store's types can read it, else in hexadecimal; the log does not keep one that ended at once.
    var action: String?
    /// As text if the store's types can read them, else in hexadecimal.
    var mutations: [String]?
    /// In hexadecimal; of a rejected or denied action the reason.
    var reply: String?
    /// The values of the entry, as the store's types write them; nil if they cannot read any.
    var decoded: Decoded?
    /// How many bytes the parts have that nobody could read.
    var bytes: Sizes?
    var detail: String?
    /// True of an entry that is not known to be committed; nil of all others.
    var isUncommitted: Bool?
    /// Why the entry was taken out of the log and kept aside; nil if it is in the log.
    var keptAside: String?
    /// When that was, in seconds since 1970.
    var keptAsideAt: Int64?

    /// What the store's types made of an entry.
    struct Decoded: Encodable {
        var action: JSONValue?
        var mutations: [JSONValue]?
        var reply: JSONValue?
    }

    /// The sizes of what could not be read.
    struct Sizes: Encodable {
        var action: Int?
        var mutations: [Int]?
        var reply: Int?
    }

    init(store: String, sequence: UInt64, epoch: UInt64, time: Int64, kind: String, batchHash: String) {
        self.store = store
        self.sequence = sequence
        self.epoch = epoch
        self.time = time
        self.kind = kind
        self.batchHash = batchHash
    }

    /// The same entry, which is not known to be committed.
    var uncommitted: EntryRecord {
        var record = self
        record.isUncommitted = true
        return record
    }

    // MARK: - The parts of an entry

    /// Shows an accepted action.
    mutating func show(action bytes: [UInt8], by decoding: StoreDecoding?) {
        guard let value = decoding?.action(bytes) else {
            action = Hexadecimal.text(of: bytes)
            return note { $0.action = bytes.count }
        }
        action = value.text
        if let json = value.json { keep { $0.action = json } }
    }

    /// Shows an entry's mutations.
    mutating func show(mutations parts: [[UInt8]], by decoding: StoreDecoding?) {
        let values = parts.map { decoding?.mutation($0) }
        mutations = zip(parts, values).map { $1?.text ?? Hexadecimal.text(of: $0) }
        if values.contains(where: { $0 == nil }) { note { $0.mutations = parts.map(\.count) } }
        let json = values.compactMap { $0?.json }
        guard !parts.isEmpty, json.count == parts.count else { return }
        keep { $0.mutations = json }
    }

    /// Shows an entry's reply, which is the reason of one that was rejected, or void because it was denied.
    mutating func show(reply bytes: [UInt8], _ status: ActionStatus, by decoding: StoreDecoding?) {
        guard status != .rejected, status != .void else {
            reply = String(decoding: bytes, as: UTF8.self)
            return
        }
        reply = Hexadecimal.text(of: bytes)
        guard status == .committed else { return }
        guard let value = decoding?.reply(bytes) else { return note { $0.reply = bytes.count } }
        if let json = value.json { keep { $0.reply = json } }
    }

    private mutating func keep(_ change: (inout Decoded) -> Void) {
        var value = decoded ?? Decoded()
        change(&value)
        decoded = value
    }

    private mutating func note(_ change: (inout Sizes) -> Void) {
        var sizes = bytes ?? Sizes()
        change(&sizes)
        bytes = sizes
    }
}

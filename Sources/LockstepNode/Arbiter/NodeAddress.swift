package import LockstepCore

/// Where a data node is reached, and which journals it has: a hint for other nodes.
///
/// Nothing about safety rests on it: who is a member is only in the record (PROTOCOL, R-75).
package struct NodeAddress: Hashable, Sendable {
    /// One journal of the node.
    package struct Journal: Hashable, Sendable {
        package var store: StoreID
        package var incarnation: Incarnation

        package init(store: StoreID, incarnation: Incarnation) {
            self.store = store
            self.incarnation = incarnation
        }
    }

    /// What an operator must know of a node, or of its journal of one store, until it has passed.
    package struct Trouble: Hashable, Sendable {
        /// Nil: the node has halted, with all of its stores.
        package let store: StoreID?
        /// One line: an alarm with its name, or why the node has halted.
        package let text: String

        /// Cuts the text off after ``ArbiterLimits/troubleBytes``.
        package init(store: StoreID?, text: String) {
            self.store = store
            var line = String(text.map { $0.isNewline ? " " : $0 })
            while line.utf8.count > ArbiterLimits.troubleBytes { line.removeLast() }
            self.text = line
        }
    }

    package var node: NodeID
    /// The node's process.
    package var boot: BootID
    /// `tcp://HOST:PORT`, in the order in which to try them.
    package var endpoints: [String]
    /// In any order; ``ArbiterLimits/addressBytes`` have room for one of each store that a node may have.
    package var journals: [Journal]
    /// At most ``ArbiterLimits/troubles``.
    package private(set) var troubles: [Trouble] = []

    package init(node: NodeID, boot: BootID, endpoints: [String], journals: [Journal] = []) {
        self.node = node
        self.boot = boot
        self.endpoints = endpoints
        self.journals = journals
    }

    /// Why the node's process has ended, or is about to; nil while it goes on.
    package var halt: String? { troubles.first { $0.store == nil }?.text }

    /// The same address with these troubles: the first of them, as many as there is room for.
    package func with(_ troubles: [Trouble]) -> NodeAddress {
        var next = self
        next.troubles = Array(troubles.prefix(ArbiterLimits.troubles))
        while next.bytes.count > ArbiterLimits.addressBytes, !next.troubles.isEmpty { next.troubles.removeLast() }
        return next
    }

    /// What no address may be, in words; nil if nothing is wrong.
    package var problem: String? {
        if endpoints.contains(where: { $0.utf8.count > Limits.textBytes }) {
            return "an endpoint has at most \(Limits.textBytes) bytes"
        }
        return bytes.count > ArbiterLimits.addressBytes
            ? "an address has at most \(ArbiterLimits.addressBytes) bytes; this one names \(journals.count) journals"
            : nil
    }

    // MARK: - Bytes

    /// The forms of ``bytes``, of which the later one also has troubles; another one is not read.
    private static let versions: (first: UInt8, withTroubles: UInt8) = (1, 2)

    /// What an arbiter keeps.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64 + 32 * journals.count)
        writer.write(troubles.isEmpty ? Self.versions.first : Self.versions.withTroubles)
        writer.writeString(node.name)
        writer.write128(boot.rawValue)
        writer.writeVarint(UInt64(endpoints.count))
        for endpoint in endpoints { writer.writeString(endpoint) }
        writer.writeVarint(UInt64(journals.count))
        for journal in journals {
            writer.write128(journal.store.rawValue)
            writer.write128(journal.incarnation.rawValue)
        }
        guard !troubles.isEmpty else { return writer.bytes }
        writer.writeVarint(UInt64(troubles.count))
        for trouble in troubles {
            writer.write128(trouble.store?.rawValue ?? 0)
            writer.writeString(trouble.text)
        }
        return writer.bytes
    }

    /// Reads ``bytes``; anything else throws.
    package init(from bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(offset: 0, end: bytes.byteCount)
        let version = try reader.read(UInt8.self, from: bytes)
        guard version == Self.versions.first || version == Self.versions.withTroubles else {
            throw WireError(.wrongVersion, at: 0)
        }
        guard let node = NodeID(try reader.readName(from: bytes)) else { throw WireError(.invalidText, at: 1) }
        self.node = node
        boot = BootID(rawValue: try reader.read128(from: bytes))
        endpoints = try reader.readList(from: bytes, smallestItem: 1) { (reader) throws(WireError) in
            try reader.readText(from: bytes)
        }
        journals = try reader.readList(from: bytes, smallestItem: 32) { (reader) throws(WireError) in
            Journal(
                store: StoreID(rawValue: try reader.read128(from: bytes)),
                incarnation: Incarnation(rawValue: try reader.read128(from: bytes)))
        }
        if version == Self.versions.withTroubles {
            troubles = try reader.readList(from: bytes, smallestItem: 17) { (reader) throws(WireError) in
                let store = StoreID(rawValue: try reader.read128(from: bytes))
                return Trouble(store: store.rawValue == 0 ? nil : store, text: try reader.readText(from: bytes))
            }
            guard !troubles.isEmpty, troubles.count <= ArbiterLimits.troubles else {
                throw WireError(.outOfRange, at: reader.offset)
            }
        }
        try reader.finish()
    }
}

/// For how long a node is listed after it was last heard.
package struct NodeLease: Hashable, Sendable {
    /// How long a node that says nothing stays listed, at least; an arbiter may take some seconds more.
    package static let seconds: Int64 = 5

    package let node: NodeID
    /// The arbiter's name for it.
    package let id: Int64

    package init(node: NodeID, id: Int64) {
        self.node = node
        self.id = id
    }
}

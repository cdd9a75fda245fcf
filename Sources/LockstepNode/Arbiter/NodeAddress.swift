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

    package var node: NodeID
    /// The node's process.
    package var boot: BootID
    /// `tcp://HOST:PORT`, in the order in which to try them.
    package var endpoints: [String]
    /// In any order; at most as many as there is room for in ``ArbiterLimits/addressBytes``, about 500.
    package var journals: [Journal]

    package init(node: NodeID, boot: BootID, endpoints: [String], journals: [Journal] = []) {
        self.node = node
        self.boot = boot
        self.endpoints = endpoints
        self.journals = journals
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

    /// The form of ``bytes``; another one is not read.
    private static let version: UInt8 = 1

    /// What an arbiter keeps.
    package var bytes: [UInt8] {
        var writer = ByteWriter(capacity: 64 + 32 * journals.count)
        writer.write(Self.version)
        writer.writeString(node.name)
        writer.write128(boot.rawValue)
        writer.writeVarint(UInt64(endpoints.count))
        for endpoint in endpoints { writer.writeString(endpoint) }
        writer.writeVarint(UInt64(journals.count))
        for journal in journals {
            writer.write128(journal.store.rawValue)
            writer.write128(journal.incarnation.rawValue)
        }
        return writer.bytes
    }

    /// Reads ``bytes``; anything else throws.
    package init(from bytes: RawSpan) throws(WireError) {
        var reader = ByteReader(offset: 0, end: bytes.byteCount)
        guard try reader.read(UInt8.self, from: bytes) == Self.version else { throw WireError(.wrongVersion, at: 0) }
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

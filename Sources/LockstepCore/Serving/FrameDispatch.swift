/// Which store of a node a frame is for (PROTOCOL, R-10).
///
/// The rule is the same for any number of stores, and for both of a node's ports that take requests. A frame goes to the
/// store of its channel, a HELLO to the store that it names. What no store has gets RESYNC if it is a request that can
/// be read, and is counted and dropped otherwise. The store decodes what it gets, and answers it. ADMIN_REQUEST is for
/// the node itself.
package struct FrameDispatch: Sendable {
    /// Where a frame goes; stores are named by their places in the order in which they were added.
    package enum Verdict: Hashable, Sendable {
        case store(Int)
        /// It asks the node itself.
        case node
        /// It is nobody's: it is counted, and answered by RESYNC with this stamp.
        case resync(FrameStamp)
        /// It is nobody's: it is counted.
        case dropped
    }

    private var names: [String] = []
    /// Nil while the store's channel is not known, which happens on replicas only.
    private var channels: [Channel?] = []

    package init() {}

    package var count: Int { names.count }

    /// Adds a store after those that are there.
    package mutating func add(_ name: String, channel: Channel?) {
        names.append(name)
        channels.append(channel)
    }

    /// The channel of a replica's store: from its journal or its stream, else from a WELCOME.
    ///
    /// It keeps the channel while its primary is away: it goes on answering reads, joins and repairs.
    package static func channel(ofReplica known: Channel?, welcome: Channel?) -> Channel? {
        known ?? welcome
    }

    /// Tells the channel of a store: a replica learns it from its journal, or from a WELCOME (PROTOCOL, R-4).
    package mutating func setChannel(_ channel: Channel?, of store: Int) {
        channels[store] = channel
    }

    /// Decides on a frame that came in on one of the node's ports; `rule` is the node's cluster, as far as it is known.
    ///
    /// Cost: a few comparisons and no allocation for a frame of a store's channel; HELLO and what is nobody's are decoded.
    package func verdict(on frame: RawSpan, rule: FrameHeader.ClusterRule) -> Verdict {
        var channel = ByteReader(offset: 2, end: frame.byteCount)
        var kind = ByteReader(offset: 5, end: frame.byteCount)
        // What is too short for either is nobody's.
        guard let number = try? channel.read(UInt16.self, from: frame),
            let byte = try? kind.read(UInt8.self, from: frame)
        else { return .dropped }
        // The kind stands at the same place in every version.
        if byte == MessageKind.hello.rawValue { return greeted(frame) }
        if byte == MessageKind.adminRequest.rawValue { return .node }
        let wanted = Channel(rawValue: number)
        if wanted != .none, let store = channels.firstIndex(of: wanted) { return .store(store) }
        return strange(frame, rule)
    }

    /// A HELLO, or what looks like one: the store that it names has it, else the first, which refuses it or counts it.
    private func greeted(_ frame: RawSpan) -> Verdict {
        guard !names.isEmpty else { return .dropped }
        // Of another version or damaged: that is the first store's to say.
        guard let decoded = try? Message.decode(frame, rule: .any), case .hello(let hello) = decoded.message else {
            return .store(0)
        }
        return .store(names.firstIndex(of: hello.store) ?? 0)
    }

    private func strange(_ frame: RawSpan, _ rule: FrameHeader.ClusterRule) -> Verdict {
        // What cannot be read is not answered.
        guard let (header, _) = try? Message.decode(frame, rule: rule), header.kind.isRequest else { return .dropped }
        return .resync(FrameStamp(channel: header.channel, clusterHash: header.clusterHash, epoch: .zero))
    }
}

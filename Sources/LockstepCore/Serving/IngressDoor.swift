/// The way into a store's machine from the ingress socket, the same at a primary and at a replica: what can be read, what
/// is refused, and what gets RESYNC (PROTOCOL, R-10).
struct IngressDoor {
    let node: String
    /// Nil while a replica does not know its cluster.
    let cluster: ClusterID?
    let store: String
    /// Nil while a replica does not know the store's channel.
    let channel: Channel?
    let stamp: FrameStamp

    /// What comes in.
    enum Guest {
        /// It names this store.
        case hello(Hello)
        /// Of this store's channel.
        case message(Message)
    }

    /// Lets a frame in; nil if it was refused or dropped.
    func enter<Directive: ServingDirective>(
        _ frame: RawSpan, from connection: Connection, into directives: inout [Directive]
    ) -> Guest? {
        let header: FrameHeader
        let message: Message
        do {
            (header, message) = try Message.decode(frame, rule: cluster.map { .member($0.hash) } ?? .any)
        } catch {
            directives.append(.count(.framesRefused))
            refuseUnreadable(frame, error, from: connection, into: &directives)
            return nil
        }
        if case .hello(let hello) = message {
            guard hello.store == store else {
                let text = "there is no store named \(hello.store) here"
                refuse(.unknownStore, text, nonce: hello.nonce, connection, into: &directives)
                return nil
            }
            return .hello(hello)
        }
        guard header.channel == channel else {
            directives.append(.count(.framesRefused))
            // A channel of another life, or of another node, at the same address: the peer asks anew which it is.
            if header.kind.isRequest { directives.append(.send(stamp.frame(.resync), to: connection)) }
            return nil
        }
        return .message(message)
    }

    /// Of what cannot be read, only a HELLO of another cluster or version is answered.
    private func refuseUnreadable<Directive: ServingDirective>(
        _ frame: RawSpan, _ error: WireError, from connection: Connection, into directives: inout [Directive]
    ) {
        guard let (reason, nonce) = FrameHeader.refusal(of: frame, error) else { return }
        let text =
            reason == .wrongCluster
            ? "\(node) belongs to cluster \(cluster ?? .none); the peer names another"
            : "\(node) speaks version \(FrameHeader.wireVersion) of the protocol; the peer another"
        refuse(reason, text, nonce: nonce, connection, into: &directives)
    }

    /// Says REFUSED; `endpoint` names the primary, where that is known to be another node.
    func refuse<Directive: ServingDirective>(
        _ reason: RefusalReason, _ text: String, nonce: UInt64, endpoint: String = "", _ connection: Connection,
        into directives: inout [Directive]
    ) {
        let refused = Refused(nonce: nonce, reason: reason, text: text, endpoint: endpoint)
        directives.append(.count(.refusals))
        directives.append(.send(stamp.frame(.refused(refused)), to: connection))
    }
}

/// What the machines of a primary and of a replica direct alike, since both serve.
protocol ServingDirective {
    static func send(_ frame: [UInt8], to connection: Connection) -> Self
    static func sendChunks(snapshot: SnapshotNumber, indices: Range<Int>, to connection: Connection) -> Self
    static func dropSnapshot(_ number: SnapshotNumber) -> Self
    static func count(_ counter: ProtocolCounter) -> Self
    /// Sends a frame to a peer of the node's own bulk socket.
    static func answerBulk(_ frame: [UInt8], to connection: Connection) -> Self
}

extension PrimaryDirective: ServingDirective {
    static func answerBulk(_ frame: [UInt8], to connection: Connection) -> Self { .sendBulk(frame, to: connection) }
}

extension ReplicaDirective: ServingDirective {
    static func answerBulk(_ frame: [UInt8], to connection: Connection) -> Self {
        .sendBulkReply(frame, to: connection)
    }
}

extension Array where Element: ServingDirective {
    /// Takes what a ``JoinServer`` wants done; whoever asked it looks for `wantsSnapshot`.
    mutating func serve(_ actions: [ServeAction]) {
        for action in actions {
            switch action {
            case .frame(let frame, let connection): append(.answerBulk(frame, to: connection))
            case .chunks(let snapshot, let indices, let connection):
                append(.sendChunks(snapshot: snapshot, indices: indices, to: connection))
            case .wantsSnapshot: break
            // The plan says so to the joiner. To a primary the joiner's HELLO says what it was told, and that decides
            // . A replica may well be behind those who join from it.
            case .audienceAhead: break
            case .dropSnapshot(let snapshot): append(.dropSnapshot(snapshot))
            case .count(let counter): append(.count(counter))
            }
        }
    }
}

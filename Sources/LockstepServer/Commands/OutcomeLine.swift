import LockstepCore

/// What became of an action, as one line or as JSON.
struct OutcomeLine: Encodable {
    private let session: String
    private let number: UInt64
    /// `committed`, `rejected`, `denied`, `void`, `accepted`; `pending`, `acknowledged`, `sessionEnded`, `sessionUnknown`.
    private let outcome: String
    private var place: Place?
    /// Why it was rejected or denied.
    private var reason: String?
    /// The reply's bytes in hexadecimal, unless the program shows them in words of its own.
    private var reply: String?
    /// The reply, decoded by the store's types.
    private var decodedReply: JSONValue?
    private var shownReply: ShownReply?

    /// The exit status.
    var status: Int32 {
        switch outcome {
        case "committed", "accepted": 0
        case "rejected", "denied", "void": 1
        default: ExitStatus.outcomeUnknown.rawValue
        }
    }

    /// `store` is the one that was asked; nil if the program does not know it.
    init<ServeOptions>(_ query: Query, _ answer: QueryLink.Answer, by store: HostedStore<ServeOptions>?) {
        session = "\(query.session)"
        number = query.number
        switch answer {
        case .state(let state): outcome = "\(state)"
        case .item(let status, let bytes, let place):
            outcome = status == .void && !bytes.isEmpty ? "denied" : "\(status)"
            self.place = place
            switch status {
            // A reason is a text for people, which may have been cut within a character.
            case .rejected: reason = String(decoding: bytes, as: UTF8.self)
            case .void: reason = bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
            case .accepted: break
            case .committed:
                shownReply = store?.replyForm?(bytes, place, query.session, query.number)
                guard shownReply == nil else { return }
                reply = Hexadecimal.text(of: bytes)
                decodedReply = store.flatMap { StoreDecoding(types: $0.type).reply(bytes)?.json }
            }
        }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(session, forKey: Key("session"))
        try container.encode(number, forKey: Key("number"))
        try container.encode(outcome, forKey: Key("outcome"))
        try container.encodeIfPresent(place?.epoch.rawValue, forKey: Key("epoch"))
        try container.encodeIfPresent(place?.sequence.rawValue, forKey: Key("sequence"))
        try container.encodeIfPresent(reason, forKey: Key("reason"))
        try container.encodeIfPresent(reply, forKey: Key("reply"))
        try container.encodeIfPresent(decodedReply, forKey: Key("decodedReply"))
        if let shownReply { try container.encode(AnyEncodable(shownReply.value), forKey: Key(shownReply.key)) }
    }

    var text: String {
        let at = place.map { " at \($0.epoch):\($0.sequence)" } ?? ""
        return switch outcome {
        case "committed": "committed\(at): " + replyText
        case "accepted": "accepted\(at): its effect goes on, or has ended"
        case "rejected", "denied": "\(outcome)\(at), without effect: \(reason ?? "")"
        case "void": "void\(at), without effect: its sender had given it up"
        case "pending":
            "pending: it is not in the log; if its sender has ended, it takes no effect once the session has ended"
        case "acknowledged":
            "acknowledged: it was answered, and its sender said that it has the answer, which is no longer kept"
        case "sessionEnded":
            "the session has ended: whether it took effect stays unknown; the journal has it, if it did"
        default: "the session is unknown to this log: whether it took effect stays unknown"
        }
    }

    private var replyText: String {
        shownReply?.text ?? "reply " + (decodedReply.map(\.text) ?? reply ?? "")
    }
}

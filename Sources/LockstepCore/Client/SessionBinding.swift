/// How a client's session is bound to its connection: by OPEN or RESUME, which are repeated until they are answered.
///
/// A session that is taken away five times without an answer in between, or that the primary does not know for 10 s,
/// is lost.
struct SessionBinding: Hashable, Sendable {
    enum Stage: Hashable, Sendable {
        case none
        case opening
        case resuming
        case bound
    }

    private(set) var stage: Stage = .none
    /// Of the OPEN that waits for OPENED, so that a repeated one gets the same session; zero: none waits.
    private(set) var openNonce: UInt64 = 0
    /// When OPEN, RESUME or CLOSE is to be repeated.
    private(set) var repeatAt = Tick.never
    /// When SESSION_UNKNOWN is believed; it outlives connections, or one that breaks again and again would never end
    /// the session.
    private var unknownEnds = Tick.never
    /// How often the session went to another connection since the last answer.
    private var moves = 0

    /// A session is asked for.
    mutating func open(_ generator: inout SplitMix64) {
        stage = .opening
        while openNonce == 0 { openNonce = generator.next() }
    }

    /// The session that there is goes on.
    mutating func resume() { stage = .resuming }

    mutating func repeats(at tick: Tick) { repeatAt = tick }

    /// The session was opened.
    mutating func opened() { openNonce = 0 }

    /// The primary serves the session on this connection.
    mutating func bind() {
        stage = .bound
        repeatAt = .never
        unknownEnds = .never
    }

    /// The connection, or the boot at its other end, is another one.
    mutating func unbind() {
        stage = .none
        repeatAt = .never
    }

    /// A number was answered: whoever shared the session has left it.
    mutating func answered() { moves = 0 }

    /// The session went to another connection: it is taken back, a few times; false if it is lost.
    mutating func takeBack() -> Bool {
        moves += 1
        guard moves <= ClientTiming.moves else { return false }
        stage = .resuming
        return true
    }

    /// The primary does not know the session, and may not know it yet: it is asked again; false if it is lost.
    mutating func askUnknown(now: Tick) -> Bool {
        guard now < unknownEnds else { return false }
        stage = .resuming
        repeatAt = now.advanced(byMilliseconds: ClientTiming.request)
        if unknownEnds == .never { unknownEnds = now.advanced(byMilliseconds: ClientTiming.unknown) }
        return true
    }

    /// The session is over.
    mutating func end() {
        unbind()
        unknownEnds = .never
        moves = 0
    }

    func checkInvariants() {
        precondition(stage != .opening || openNonce != 0, "what is opened has its nonce")
        switch stage {
        case .none: precondition(repeatAt == .never, "nothing is repeated without a question")
        case .opening, .resuming: precondition(repeatAt != .never, "what the primary owes is asked for again")
        case .bound: break
        }
        precondition(moves <= ClientTiming.moves, "a session is not taken back for ever")
    }
}

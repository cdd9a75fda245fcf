/// How a store of a node goes down in good order, as SIGTERM asks for it: its callers first, then its session, then its
/// journal.
///
///     finishing --callers are idle, or 2 s--> closing --the session is closed--> draining --drained, or 5 s--> stopped
///         `------ nobody hears CLOSE, or something is unanswered -----------------^
///
/// Whoever owns it looks at ``stage`` in each turn, asks for the present stage whether it is over, and does what follows.
package struct OrderlyStop: Hashable, Sendable {
    package enum Stage: Hashable, Sendable {
        /// No new callers; those that wait get their answers if they come in time.
        case finishing(until: Tick)
        /// The session is being closed.
        case closing
        /// The machine admits nothing more, and the primary's journal is being written.
        case draining(until: Tick)
        case stopped
    }

    package private(set) var stage: Stage

    /// How long callers may get their answers.
    package static let finishMilliseconds: Int64 = 2_000
    /// How long the journal may take.
    package static let drainMilliseconds: Int64 = 5_000

    /// Begins; in haste no caller is waited for.
    package init(now: Tick, isGraceful: Bool = true) {
        stage = .finishing(until: isGraceful ? now.advanced(byMilliseconds: Self.finishMilliseconds) : now)
    }

    /// Whether the machine was told to stop.
    package var isMachineStopping: Bool {
        switch stage {
        case .finishing, .closing: false
        case .draining, .stopped: true
        }
    }

    /// When a stage ends by its time.
    package var deadline: Tick {
        switch stage {
        case .finishing(let end), .draining(let end): end
        case .closing, .stopped: .never
        }
    }

    /// Whether no caller is waited for any longer; then come ``callersEnded(isWelcomed:hasUnanswered:)`` and what it says.
    package func isFinished(isIdle: Bool, now: Tick) -> Bool {
        guard case .finishing(let end) = stage else { return false }
        return isIdle || now >= end
    }

    /// Callers are waited for no longer; returns whether the session is to be closed, or else the machine to be stopped.
    ///
    /// Nobody may be there to hear CLOSE. A session in which something is unanswered stays, so that somebody may still
    /// ask what became of it; the primary ends it when its time to live is over.
    package mutating func callersEnded(isWelcomed: Bool, hasUnanswered: Bool) -> Bool {
        guard case .finishing = stage else { preconditionFailure("callers are waited for once; it is \(stage)") }
        guard isWelcomed, !hasUnanswered else { return false }
        stage = .closing
        return true
    }

    /// The machine was told to stop.
    package mutating func machineStopped(now: Tick) {
        precondition(!isMachineStopping, "the machine is stopped once; it is \(stage)")
        stage = .draining(until: now.advanced(byMilliseconds: Self.drainMilliseconds))
    }

    /// Notes whether the journal has all; when it has, or had its time, the store has stopped.
    package mutating func advance(isDrained: Bool, now: Tick) {
        guard case .draining(let end) = stage, isDrained || now >= end else { return }
        stage = .stopped
    }
}

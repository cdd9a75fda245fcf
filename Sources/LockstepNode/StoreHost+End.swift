package import LockstepCore
internal import Logging

// The end of a store: callers first, then its session, then its journal.
extension StoreHost {
    /// How far a store is with its end.
    enum StopStage: Hashable {
        case running
        /// No new callers; those that wait get their answers if they come in time.
        case finishing(until: Tick)
        /// The session is being closed.
        case closing
        /// The primary's journal is being written.
        case draining(until: Tick)
        case stopped
    }

    package var isStopped: Bool { stopping == .stopped }

    /// Begins the end: no new callers, answers to those that wait, the session closed, the journal written.
    package func beginStop(now: Tick, isGraceful: Bool) {
        guard stopping == .running else { return }
        port.inbox.close(Self.stopped)
        stopping = .finishing(until: isGraceful ? now.advanced(byMilliseconds: 2_000) : now)
    }

    package func continueStop(now: Tick) {
        switch stopping {
        case .running, .closing, .stopped: break
        case .finishing(let end):
            guard desk.isIdle || now >= end else { return }
            desk.stop(Self.stopped)
            // Nobody is there to hear CLOSE, or somebody may still ask what became of an action, which only an open
            // session tells; the primary ends it when its time to live is over.
            guard client.welcome != nil, !desk.hasUnknown else { return beginDraining(now: now) }
            stopping = .closing
            client.close(now: now, into: &directives)
            execute(now: now)
        case .draining(let end):
            guard driver?.isDrained ?? true || now >= end else { return }
            stopping = .stopped
        }
    }

    func beginDraining(now: Tick) {
        driver?.beginStop()
        stopping = .draining(until: now.advanced(byMilliseconds: 5_000))
    }

    /// When ``continueStop(now:)`` has something to do, at the latest.
    package var nextStopDeadline: Tick {
        switch stopping {
        case .running, .stopped: .never
        case .finishing(let end), .draining(let end): end
        case .closing: client.nextDeadline
        }
    }

    /// Lets go of everything: callers that still wait are told.
    package func end(_ error: LockstepError) {
        guard !isEnded else { return }
        isEnded = true
        // Who comes late learns the cause too.
        let error = port.readiness.standing.refusal ?? error
        port.inbox.end(error)
        port.readiness.set(.stopped)
        desk.stop(error)
        readers.failAll(error)
        feed.failAll(error)
        asks.failAll(error)
        ends.failAll(error)
        watchDesk.failAll(error)
        links.close()
        driver?.close()
        guard hasRun else { return }
        let position = driver?.position ?? client.known.position
        logger.info("stopped", metadata: [LogKey.epoch: "\(position.epoch)", LogKey.sequence: "\(position.sequence)"])
    }

    package static let stopped = LockstepError(
        .stopped, "the node has stopped, or is stopping; the action was not submitted")
}

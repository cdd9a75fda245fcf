package import LockstepCore
internal import Logging

// The end of a store: callers first, then its session, then its journal.
extension StoreHost {
    package var isStopped: Bool { stop?.stage == .stopped }

    /// Begins the end: no new callers, answers to those that wait, the session closed, the journal written.
    package func beginStop(now: Tick, isGraceful: Bool) {
        guard stop == nil else { return }
        port.inbox.close(Self.stopped)
        stop = OrderlyStop(now: now, isGraceful: isGraceful)
    }

    /// Goes on until a stage has to wait for something: nobody comes back before the loop's next turn, which may be a
    /// second away.
    package func continueStop(now: Tick) {
        var before = stop?.stage
        while true {
            takeStopStep(now: now)
            guard stop?.stage != before else { return }
            before = stop?.stage
        }
    }

    private func takeStopStep(now: Tick) {
        switch stop?.stage {
        case nil, .closing, .stopped: break
        case .finishing:
            guard stop?.isFinished(isIdle: desk.isIdle, now: now) ?? false else { return }
            desk.stop(Self.stopped)
            // Before the session is closed, which would take their ends for lost.
            ends.stop()
            let isWelcomed = client.welcome != nil
            let hasUnanswered = desk.hasUnknown || ends.hasUnfinished
            guard stop?.callersEnded(isWelcomed: isWelcomed, hasUnanswered: hasUnanswered) ?? false else {
                return beginDraining(now: now)
            }
            client.close(now: now, into: &directives)
            execute(now: now)
        case .draining: stop?.advance(isDrained: driver?.isDrained ?? true, now: now)
        }
    }

    func beginDraining(now: Tick) {
        driver?.beginStop()
        stop?.machineStopped(now: now)
    }

    /// When ``continueStop(now:)`` has something to do, at the latest.
    package var nextStopDeadline: Tick {
        switch stop?.stage {
        case .closing: client.nextDeadline
        case nil, .finishing, .draining, .stopped: stop?.deadline ?? .never
        }
    }

    /// Lets go of everything: callers that still wait are told.
    package func end(_ error: LockstepError) {
        guard !isEnded else { return }
        isEnded = true
        // Who comes late learns the cause too.
        let error = port.readiness.standing.refusal ?? error
        port.end(error)
        desk.stop(error)
        readers.failAll(error)
        feed.failAll(error)
        asks.failAll(error)
        ends.stop()
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

extension StorePort {
    /// The node has ended: callers and readers of any thread are refused from here on.
    func end(_ error: LockstepError) {
        // Before the gate, which sends readers there.
        inbox.end(error)
        gate.end()
        readiness.set(.stopped)
    }
}

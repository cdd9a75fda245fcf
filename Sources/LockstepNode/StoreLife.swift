package import LockstepCore
package import Logging

/// The lines of a store's life, each once a change: `admitting` or `live`, `primary found`, `primary lost`.
///
/// It looks at what is, at the end of each turn, rather than at events: so a line that ``LineLimit`` holds back is
/// written when the minute is over, if it is still true. `recovered`, `listening` and `stopped` come once in a life and
/// are written where they happen.
package struct StoreLife {
    private let logger: Logger
    private var isServing = false
    private var primary: BootID?
    private var servingLines = LineLimit()
    private var primaryLines = LineLimit()
    /// The line that says that it serves was held back, and is still to be written.
    private var isServingHeld = false
    /// The same of a line about the primary: of the boot that was found, or nil inside for one that was lost.
    private var heldPrimary: BootID??

    /// How far a store serves.
    package enum Service: Hashable, Sendable {
        /// Not, or not yet; a line or an alarm said why.
        case none
        /// As the primary, from this commit on.
        case admitting(Epoch, SequenceNumber)
        /// As a replica that has caught up, from this place on.
        case live(Epoch, SequenceNumber)
    }

    /// What a replica or a client knows of its primary.
    package enum Link: Hashable, Sendable {
        /// Greetings are under way: nothing has changed yet.
        case greeting
        /// Nobody answers, or the connection was given up.
        case lost
        /// A node of this boot said WELCOME.
        case found(BootID, endpoint: String, commit: Position)
    }

    /// The lines of one store; `logger` has the store's name.
    package init(logger: Logger) { self.logger = logger }

    package mutating func serves(_ service: Service, now: Tick) {
        guard service != .none else {
            (isServing, isServingHeld) = (false, false)
            return
        }
        guard !isServing else { return }
        let line = servingLines.take(now: now, isAgain: isServingHeld)
        isServingHeld = line == nil
        guard let skipped = line else { return }
        isServing = true
        switch service {
        case .none: break
        case .admitting(let epoch, let sequence): write("admitting", epoch, sequence, skipped: skipped)
        case .live(let epoch, let sequence): write("live", epoch, sequence, skipped: skipped)
        }
    }

    /// `own` is what this node has.
    package mutating func links(_ link: Link, own: Position, now: Tick) {
        switch link {
        case .greeting: return
        case .lost:
            guard let skipped = takeLine(about: nil, now: now) else { return }
            primary = nil
            write("primary lost", own.epoch, own.sequence, skipped: skipped)
        case .found(let boot, let endpoint, let commit):
            guard let skipped = takeLine(about: boot, now: now) else { return }
            primary = boot
            write(
                "primary found", commit.epoch, commit.sequence, skipped: skipped,
                [LogKey.endpoint: "\(endpoint)", LogKey.boot: "\(boot)"])
        }
    }

    /// Whether a line about the primary is written now, with how many were held back before; nil also if nothing changed.
    private mutating func takeLine(about boot: BootID?, now: Tick) -> Int? {
        guard primary != boot else {
            heldPrimary = nil
            return nil
        }
        let line = primaryLines.take(now: now, isAgain: heldPrimary == .some(boot))
        heldPrimary = line == nil ? .some(boot) : nil
        return line
    }

    private func write(
        _ message: Logger.Message, _ epoch: Epoch, _ sequence: SequenceNumber, skipped: Int,
        _ more: Logger.Metadata = [:]
    ) {
        var metadata = more
        metadata[LogKey.epoch] = "\(epoch)"
        metadata[LogKey.sequence] = "\(sequence)"
        if skipped > 0 { metadata[LogKey.skipped] = "\(skipped)" }
        logger.info(message, metadata: metadata)
    }
}

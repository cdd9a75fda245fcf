import LockstepCore

/// A query that a caller watches, and the newest that it was told.
struct WatchedQuery {
    var query: [UInt8]
    var answer: [UInt8]?
    var epoch = Epoch.zero
    var sequence = SequenceNumber.zero
    /// Whose answer it is.
    var boot = BootID.none
    /// How many nodes had given up their logs when it came.
    var losses = 0
    /// The node cannot answer now.
    var isUnavailable = false
}

// Queries that are watched, and what their watchers must be told.
extension Caller {
    /// Begins to watch something.
    func beginWatch() {
        guard let query = drawQuery() else { return }
        let number = nextWatch
        nextWatch += 1
        let interval = UInt32(simulation.watchRandom.between(1, 1_000)) * 1_000
        let isTaken = machine.watch(number, query: query, interval: interval, now: process.now, into: &directives)
        if isTaken { watches[number] = WatchedQuery(query: query) }
    }

    /// A query that somebody may watch; nil if callers ask nothing.
    private func drawQuery() -> [UInt8]? {
        for _ in 0..<64 {
            let call = store.workload.next(caller: id, random: &simulation.watchRandom)
            if case .read(let query, _)? = call { return query }
        }
        return nil
    }

    /// Ends a watch.
    private func endWatch(_ number: UInt64) {
        watches[number] = nil
        machine.unwatch(number, into: &directives)
    }

    /// A watch has another answer.
    func watchAnswered(_ result: ReadResult, _ frame: [UInt8]) {
        guard var watch = watches[result.id] else {
            return simulation.fail(.watching, "\(process.name) is told of a watch that it ended")
        }
        switch result.status {
        case .unavailable: watch.isUnavailable = true
        case .refused: simulation.fail(.watching, "\(process.name) watches what was answered before, and is refused")
        case .answered:
            let bytes = Array(frame[result.answer])
            let boot = machine.welcome?.boot ?? .none
            let losses = store.oracle.watchers.losses
            if watch.boot == boot, watch.losses == losses {
                if (result.epoch, result.sequence) < (watch.epoch, watch.sequence) {
                    simulation.fail(.monotonic, "\(process.name) watches, and is told of \(result.sequence) too late")
                }
                if watch.answer == bytes, !watch.isUnavailable {
                    simulation.fail(.watching, "\(process.name) is told the same twice at \(result.sequence)")
                }
            }
            if !store.oracle.divergence.isDoubtful(frame) {
                store.oracle.wasRead(
                    bytes, to: watch.query, epoch: result.epoch, result.sequence, by: process)
            }
            watch = WatchedQuery(
                query: watch.query, answer: bytes, epoch: result.epoch, sequence: result.sequence, boot: boot,
                losses: losses)
            simulation.coverage.watchAnswers += 1
        }
        watches[result.id] = watch
        if !simulation.isHealed, simulation.watchRandom.chance(0.02) {
            endWatch(result.id)
            beginWatch()
        }
    }

    /// The watches whose watcher does not have what the newest state answers.
    var outdatedWatches: [UInt64] {
        guard !watches.isEmpty, let newest = store.oracle.remembered else { return [] }
        return watches.filter { _, watch in
            guard let answer = watch.answer, !watch.isUnavailable else { return true }
            return !store.workload.isRight(answer, to: watch.query, at: newest)
        }.keys.sorted()
    }
}

import LockstepCore

/// Deadlines for what clients and data nodes wait for, while nothing disturbs the cluster.
///
/// Any node may have to act for any other, so what strikes one disturbs all. A wait counts from when it was first seen,
/// and not before the last strike, or the end of what lasts. Written schedules are not judged before they have ended.
struct ClusterWaits {
    /// About twice the longest of 800 seeds, which was 4.9 s.
    var book = WaitBook(commonBound: 10 * Span.second)
    /// Since when nothing has disturbed the cluster; a time to come if what was struck is still felt then.
    private(set) var healthySince: Int64 = 0

    mutating func disturbed(until time: Int64) { healthySince = max(healthySince, time) }
}

extension ClusterSimulation {
    func lookAtWaits() {
        if isDisturbed { waits.disturbed(until: now) }
        waits.book.begin()
        if !nodes.contains(where: { inPlace(&$0.primary) { $0?.phase } == .admitting }) { note(.reign, of: 0) }
        for node in nodes {
            let shown = node.shown.log.position.sequence
            if shown < checker.committed { note(.repair, of: node.index, shown.rawValue) }
        }
        for client in clients { noteWaits(of: client) }
        guard let (wait, since) = waits.book.end(now: now, usualSince: 0) else { return }
        let seconds = Double((now - since) / Span.millisecond) / 1_000
        let name = name(ofProcess: wait.process)
        fail(.waiting, "\(name) waits for \(wait.kind.rawValue), healthy for \(seconds) s; \(summary)")
    }

    /// No process sends a storm of frames, whatever strikes.
    func lookAtFrames() {
        guard let storm = frameRates.look(now: now, load: 1, usualSince: 0) else { return }
        fail(.storm, "\(name(ofProcess: storm.process)) sent \(storm.count) \(storm.kind) in a second; \(summary)")
    }

    private func name(ofProcess number: Int) -> String {
        number < nodes.count ? nodes[number].name.name : "client \(number - nodes.count)"
    }

    private func noteWaits(of client: ClusterClient) {
        let process = nodes.count + client.index
        for id in client.reads.keys.sorted() { note(.linearizableRead, of: process, id) }
        guard !client.isReader else {
            // What it asked goes with its connection; it has at least one answer more, soon.
            if wantsMore(client) { note(.linearizableRead, of: process, UInt64(client.readCount), .max) }
            return
        }
        let lives = UInt64(client.losses)
        guard client.session != nil else {
            if wantsMore(client) { note(.session, of: process, lives) }
            return
        }
        if client.stage != .ready { note(.resumption, of: process, lives) }
        if client.answered < client.submitted { note(.answer, of: process, client.answered + 1, lives) }
    }

    private func note(_ kind: WaitBook.Kind, of process: Int, _ first: UInt64 = 0, _ second: UInt64 = 0) {
        waits.book.note(
            WaitBook.Wait(kind: kind, process: process, boot: 0, first: first, second: second),
            healthySince: waits.healthySince)
    }

    /// Something lasts that keeps somebody from working.
    private var isDisturbed: Bool {
        let isAnyAway = nodes.contains {
            !$0.isUp || $0.isStopping || $0.hasOlderDisk || now < max($0.pausedUntil, $0.stuckUntil)
        }
        let isArbiterAway =
            arbiter.wasSetBack || now < arbiter.awayUntil || arbiter.cutUntil.values.contains { now < $0 }
        return isAnyAway || isArbiterAway || !cuts.isEmpty || isPromoting || isQuiet
            || options.script != nil && !isHealed
    }
}

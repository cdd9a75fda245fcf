internal import LockstepCore

// What callers and effects of this node want done on its thread, a part of it each turn.
extension StoreHost {
    /// How long a turn does what a store's own callers left, and as long again takes their frames, in milliseconds.
    ///
    /// The heartbeat leaves between turns (PROTOCOL, R-79).
    static let callersMilliseconds: Int64 = 2

    /// Does the work that was left for the node's thread, for 2 ms and what was begun; the rest stays in the inbox, in
    /// its order, for the next turn.
    ///
    /// What effects bring is decoded and reduced here, however much of it comes at once, and a primary that says
    /// nothing for over a second loses its post.
    func handle(_ errands: [Errand]) {
        guard !errands.isEmpty else { return }
        // Whoever is told now that the state must not be read cannot read it any more (PROTOCOL R-41).
        if readRefusal != nil { setGate() }
        let end = MonotonicClock.now.advanced(byMilliseconds: Self.callersMilliseconds)
        var done = 0
        while done < errands.count, done == 0 || MonotonicClock.now < end {
            errands[done].run(self)
            done += 1
        }
        port.inbox.giveBack(errands[done...])
    }
}

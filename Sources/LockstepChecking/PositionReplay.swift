extension PositionOrder {
    /// Compares the outputs of one key's operations with what the model gives in the order of their places.
    func replay(_ operations: [Call], _ indices: [Int], into result: inout CheckResult) {
        let placed = indices.compactMap { index in
            operations[index].place.map { (place: $0, rank: isRead(operations[index]) ? 1 : 0, index: index) }
        }.sorted { $0 < $1 }.map(\.index)
        let unplaced = indices.filter { operations[$0].place == nil && !isRead(operations[$0]) }
        result.checked += placed.count { operations[$0].output != nil }
        guard unplaced.isEmpty else {
            search(operations, placed: placed, unplaced: unplaced, into: &result)
            return
        }
        var state = model.initial
        var last: Int?
        for index in placed {
            let call = operations[index]
            if let after = model.step(state, call.input, call.output) {
                state = after
            } else {
                let place = call.place.map { " at \($0)" } ?? ""
                let detail = "client \(call.client)\(place): the state was \(state) before \(call.input)"
                result.findings.append(Finding(.wrongOutput, [index] + (last.map { [$0] } ?? []), detail))
                state = model.step(state, call.input, nil) ?? state
            }
            last = index
        }
    }

    /// Looks for places of the writes that have none, such that all outputs fit.
    ///
    /// The search for linearizability does it, with times that leave only the order of the known places: each of those
    /// gets a moment of its own, and a write without a place the time from after the last one that had returned when
    /// it was invoked until before the first one that was invoked when it had returned.
    private func search(_ operations: [Call], placed: [Int], unplaced: [Int], into result: inout CheckResult) {
        let later = { (left: Int, right: Int) in max(left, right) }
        let returned = Timeline(
            placed.enumerated().compactMap { rank, index in operations[index].returned.map { ($0, rank) } },
            fold: later)
        let invoked = Timeline(
            placed.enumerated().map { rank, index in (-operations[index].invoked, -rank) }, fold: later)
        var calls = placed.enumerated().map { rank, index in
            var call = operations[index]
            call.client = index
            call.invoked = Int64(rank) * 4 + 1
            call.returned = call.output == nil ? nil : call.invoked + 1
            return call
        }
        for index in unplaced {
            var call = operations[index]
            call.client = index
            let end = call.returned.flatMap { invoked.before(-$0) }.map { Int64(-$0) * 4 } ?? .max - 1
            call.invoked = returned.before(call.invoked).map { Int64($0) * 4 + 3 } ?? 0
            // Where the places contradict real time, which is a finding of its own, no moment may be left.
            call.returned = call.returned == nil ? nil : max(end, call.invoked)
            calls.append(call)
        }
        switch LinearizabilityChecker(model, stepLimit: stepLimit).check(calls) {
        case .linearizable: break
        case .undecided(let steps):
            result.undecided.append("\(unplaced.count) writes have no place; gave up after \(steps) steps")
        case .notLinearizable(let evidence):
            result.findings.append(
                Finding(.wrongOutput, evidence.stuck.map(\.client), evidence.description))
        }
    }
}

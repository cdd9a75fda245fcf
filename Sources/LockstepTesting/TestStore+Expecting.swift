public import Lockstep
import LockstepCore

extension TestStore {
    // MARK: - Sending

    /// Sends an action that is to be taken: committed at once, or accepted with an effect that goes on.
    ///
    /// What was emitted before must have been received. The closure makes the change of the state that the action's own
    /// entry makes; without it there must be none. What an effect that goes on emits is received later.
    ///
    /// - Returns: The action, to cancel it or to ask for its reply.
    @discardableResult
    public func send(
        _ action: R.Action, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column, _ change: ((inout R.State) throws -> Void)? = nil
    ) -> SentAction<R> {
        let place = CallSite(fileID, filePath, line, column)
        return send(action, change, at: place) { sent in
            guard case .rejected(let reason, _) = self.outcome(of: sent) else { return nil }
            return "was rejected: \(reason)"
        }
    }

    /// Sends an action that ends at once with this reply.
    @_disfavoredOverload
    @discardableResult
    public func send(
        _ action: R.Action, reply: R.Reply, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column, _ change: ((inout R.State) throws -> Void)? = nil
    ) -> SentAction<R> {
        let place = CallSite(fileID, filePath, line, column)
        return send(action, change, at: place) { sent in
            guard case .committed(let receipt) = self.outcome(of: sent) else {
                return "was to be replied to with \(reply): \(self.words(of: sent))"
            }
            let difference = self.difference(expected: reply, found: receipt.reply)
            return difference.map { "has another reply than the expected one\n\($0)" }
        }
    }

    /// Sends an action that ends at once with this reply, of the type that it promises.
    @discardableResult
    public func send<Reply: Encodable>(
        _ action: TypedAction<R, Reply>, reply: Reply, fileID: String = #fileID, filePath: String = #filePath,
        line: Int = #line, column: Int = #column, _ change: ((inout R.State) throws -> Void)? = nil
    ) -> SentAction<R> {
        let place = CallSite(fileID, filePath, line, column)
        return send(action.action, change, at: place) { sent in
            guard case .committed(let receipt) = self.outcome(of: sent) else {
                return "was to be replied to with \(reply): \(self.words(of: sent))"
            }
            guard let found = action.value(of: receipt.reply) else {
                return "promises another reply than it has: \(self.words(of: sent))"
            }
            let difference = self.difference(expected: reply, found: found)
            return difference.map { "has another reply than the expected one\n\($0)" }
        }
    }

    /// Sends an action that is to be rejected for this reason, and so changes nothing.
    @discardableResult
    public func send(
        _ action: R.Action, rejected reason: String, fileID: String = #fileID, filePath: String = #filePath,
        line: Int = #line, column: Int = #column
    ) -> SentAction<R> {
        let place = CallSite(fileID, filePath, line, column)
        return send(action, nil, at: place) { sent in
            if case .rejected(reason, _) = self.outcome(of: sent) { return nil }
            return "was to be rejected with \"\(reason)\": \(self.words(of: sent))"
        }
    }

    private func send(
        _ action: R.Action, _ change: ((inout R.State) throws -> Void)?, at place: CallSite,
        problem: (SentAction<R>) -> String?
    ) -> SentAction<R> {
        let number = lastNumber + 1
        let sent = SentAction<R>(run: RunID(session: log.session, number: number), description: "\(action)")
        guard settle(at: place), let primary else { return sent }
        if !events.isEmpty {
            missed("before \(sent) was sent:", events, at: place)
            skipReceived()
        }
        let bytes: [UInt8]
        do { bytes = try R.actionCoding.encoded(action) } catch {
            fail("\(sent) cannot be encoded: \(error)", at: place)
            return sent
        }
        if let problem = TestText.problem(withSize: bytes.count) {
            // Its words may be as long as it is.
            fail("\(sent.description.prefix(100))… cannot be sent: \(problem)", at: place)
            return sent
        }
        actions[number] = sent.description
        primary.submit(bytes, number: number)
        if let busy = primary.busy {
            fail("the primary did not take \(sent), which is tried again by a node: \(busy)", at: place)
            return sent
        }
        lastNumber = number
        let own = primary.takeHappenings()
        take(own)
        guard settle(at: place) else { return sent }
        let entry = own.lazy.compactMap { happening -> TestEntry<R>? in
            guard case .entry(let entry) = happening else { return nil }
            switch entry.kind {
            case .action(number, _, _): return entry
            case .accepted(let id) where id.number == number: return entry
            default: return nil
            }
        }.first
        guard let entry else { preconditionFailure("an action that was taken is in the log") }
        let text = problem(sent)
        if let text { fail("\(sent) \(text)", at: place) }
        // An action that was not taken has not changed anything; that it was not says enough.
        let isTold = text != nil && entry.mutations.isEmpty
        if !isTold { check(entry, change, "\(sent)", at: place) }
        state = entry.after
        return sent
    }

    private func words(of action: SentAction<R>) -> String {
        switch outcome(of: action) {
        case .committed(let receipt): "it was committed with the reply \(receipt.reply)"
        case .rejected(let reason, _): "it was rejected with \"\(reason)\""
        case .denied(let reason, _): "it was denied: \(reason)"
        case .accepted: "it was accepted, and its effect goes on"
        case .failed(let reason, _, _): "it was accepted, and its effect failed: \(reason)"
        case .cancelled, .void: "it was cancelled"
        case .unreadable(let error, _): "its reply cannot be read: \(error)"
        case nil: "it was not taken"
        }
    }

    // MARK: - Receiving

    /// Receives the next entry that effects, feedback, timers or sources emitted: these mutations.
    ///
    /// Several are those that were emitted together, as one entry. The closure makes the change of the state that they
    /// make together; without it there must be none.
    public func receive(
        _ mutations: R.Mutation..., fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column, _ change: ((inout R.State) throws -> Void)? = nil
    ) {
        let place = CallSite(fileID, filePath, line, column)
        let digest = Self.digest(of: mutations)
        receive(words(for: mutations), change, at: place) { event in
            guard case .entry(let entry) = event.content else { return false }
            return Self.digest(of: entry.mutations) == digest
        } difference: { event in
            guard case .entry(let entry) = event.content, entry.mutations.count == 1, mutations.count == 1 else {
                return nil
            }
            return self.difference(expected: mutations[0], found: entry.mutations[0])
        }
    }

    /// Receives the next entry, of which all mutations must match.
    public func receive(
        where matches: (R.Mutation) -> Bool, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column, _ change: ((inout R.State) throws -> Void)? = nil
    ) {
        let place = CallSite(fileID, filePath, line, column)
        receive("mutations that match", change, at: place) { event in
            guard case .entry(let entry) = event.content else { return false }
            return entry.mutations.allSatisfy(matches)
        }
    }

    /// Receives the failure of an effect, a feedback or a source: its error as text, for an action the reason that its
    /// sender gets.
    public func receiveFailure(
        _ reason: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        let place = CallSite(fileID, filePath, line, column)
        receive("a failure: \(reason)", nil, at: place) { event in
            guard case .failure(let text) = event.content else { return false }
            return text == reason
        }
    }

    private func receive(
        _ expected: String, _ change: ((inout R.State) throws -> Void)?, at place: CallSite,
        matches: (TestEvent<R>) -> Bool, difference: (TestEvent<R>) -> String? = { _ in nil }
    ) {
        guard settle(at: place) else { return }
        guard let first = events.first else {
            let running = runningEffects.map { "  \($0)" }
            let sleepers = clock.deadlines.map { "  somebody sleeps for another \($0.offset - clock.elapsed)" }
            let lines = running.isEmpty ? ["  nothing runs"] : running + sleepers
            return fail(
                (["nothing was emitted, expected was \(expected)"] + lines).joined(separator: "\n"), at: place)
        }
        let index = events.firstIndex(where: matches)
        guard let index, index == 0 || exhaustivity != .on else {
            let found = events.map { "  \(words(for: $0))" }
            let lines = ["expected was \(expected), the next is another"] + found
            fail((lines + [difference(first)].compactMap { $0 }).joined(separator: "\n"), at: place)
            if case .on = exhaustivity { events.removeFirst() }
            if case .on = exhaustivity, case .entry(let entry) = first.content { state = entry.after }
            return
        }
        if index > 0 { missed("before \(expected):", Array(events[..<index]), at: place) }
        let event = events[index]
        events.removeSubrange(...index)
        guard case .entry(let entry) = event.content else { return }
        check(entry, change, words(for: event), at: place)
        state = entry.after
    }

    // MARK: - Comparing

    /// Compares the state after an entry with what the test expects there.
    private func check(
        _ entry: TestEntry<R>, _ change: ((inout R.State) throws -> Void)?, _ what: String, at place: CallSite
    ) {
        guard let change else {
            if let text = changes(from: entry.before, to: entry.after) {
                missed("\(what) changed the state, no change was expected\n\(text)", at: place)
            }
            return
        }
        var expected = entry.before
        do {
            try change(&expected)
            guard exhaustivity != .on, difference(expected: expected, found: entry.after) != nil else {
                return checkExactly(entry, expected, what, at: place)
            }
            // What the closure assigns must be so; what it leaves alone may be anything.
            expected = entry.after
            try change(&expected)
        } catch {
            return fail("the closure for \(what) threw: \(error)", at: place)
        }
        if let text = difference(expected: expected, found: entry.after) {
            fail("\(what): the state is not the expected one\n\(text)", at: place)
        } else if let text = changes(from: entry.before, to: entry.after) {
            missed("\(what) changed more than was expected\n\(text)", at: place)
        }
    }

    private func checkExactly(_ entry: TestEntry<R>, _ expected: R.State, _ what: String, at place: CallSite) {
        if let text = difference(expected: expected, found: entry.after) {
            fail("\(what): the state is not the expected one\n\(text)", at: place)
        } else if difference(expected: expected, found: entry.before) == nil {
            missed("\(what) changed nothing, and the closure expects nothing: leave it out", at: place)
        }
    }

    private func difference(expected: some Encodable, found: some Encodable) -> String? {
        TestText.difference(expected: expected, found: found)
    }

    private func changes(from before: R.State, to after: R.State) -> String? {
        TestText.changes(from: before, to: after)
    }

    private static func digest(of mutations: [R.Mutation]) -> [Digest] {
        mutations.map { StateDigest.digest(of: $0) }
    }
}

/// What a test is told, nil where there is nothing to tell; differences have each line after two spaces.
enum TestText {
    /// What is wrong with the size of an action, which no sender takes then.
    static func problem(withSize count: Int) -> String? {
        count > Limits.actionBytes ? "its \(count) bytes are above the limit of \(Limits.actionBytes)" : nil
    }

    static func difference(expected: some Encodable, found: some Encodable) -> String? {
        guard StateDigest.digest(of: expected) != StateDigest.digest(of: found) else { return nil }
        let changes = StateChanges(from: expected, to: found)
        let lines = changes.changes.map { change in
            let place = change.path.isEmpty ? "" : "\(change.path): "
            return "  \(place)expected \(change.before ?? "nothing"), found \(change.after ?? "nothing")"
        }
        return (lines + rest(changes)).joined(separator: "\n")
    }

    static func changes(from before: some Encodable, to after: some Encodable) -> String? {
        guard StateDigest.digest(of: before) != StateDigest.digest(of: after) else { return nil }
        let changes = StateChanges(from: before, to: after)
        return (changes.changes.map { "  \($0)" } + rest(changes)).joined(separator: "\n")
    }

    private static func rest(_ changes: StateChanges) -> [String] {
        changes.omitted > 0 ? ["  and \(changes.omitted) more"] : []
    }
}

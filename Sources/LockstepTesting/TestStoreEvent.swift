public import Lockstep
import LockstepCore

/// Something that a test has to receive.
struct TestEvent<R: Reactor> {
    enum Content {
        case entry(TestEntry<R>)
        /// Why something failed.
        case failure(String)
    }

    /// Whom it came from, in words.
    let source: String
    let content: Content
}

/// An action that a test has sent to a ``TestStore``: to cancel it, and to ask what became of it.
public struct SentAction<R: Reactor>: Hashable, Sendable, CustomStringConvertible {
    /// Names the action, and its effect, for ever.
    public let run: RunID
    /// The action in words.
    public let description: String
}

extension TestStore {
    /// Asks for the end of an action's effect, as its sender can; without effect if it has ended.
    public func cancel(
        _ action: SentAction<R>, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line,
        column: Int = #column
    ) {
        let place = CallSite(fileID, filePath, line, column)
        guard settle(at: place) else { return }
        primary?.request(.cancel, of: action.run.number)
        settle(at: place)
    }

    /// What became of an action so far: `accepted` as long as its effect goes on; nil if it was not taken.
    public func outcome(of action: SentAction<R>) -> Outcome<R.Reply>? { outcomes[action.run.number] }

    /// The reply to an action.
    ///
    /// - Throws: ``LockstepError``: `rejected`, `failed` or `cancelled`; `unfinished` while its effect goes on.
    public func reply(to action: SentAction<R>) throws -> R.Reply {
        guard let outcome = outcome(of: action) else { throw LockstepError(.rejected, "\(action) was not taken") }
        return try outcome.get().reply
    }

    /// Drops what was not received so far; ``state`` is then the newest one.
    public func skipReceived() {
        for case .entry(let entry) in events.map(\.content) { state = entry.after }
        events = []
    }

    /// Lets effects still run at the end.
    public func skipEffects() { ignoresEffects = true }

    // MARK: - Reading the log

    /// Notes what an entry means for the action that it is of.
    func note(_ entry: TestEntry<R>) {
        switch entry.kind {
        case .action(let number, let status, let reply):
            outcomes[number] = outcome(RunID(session: log.session, number: number), status, reply, entry, isEnd: false)
        case .accepted(let id): outcomes[id.number] = .accepted(id, place: entry.place)
        case .emitted(.action(_, let number)): emissions[number, default: 0] += 1
        case .emitted: break
        case .finished(let id, let status, let reply):
            outcomes[id.number] = outcome(id, status, reply, entry, isEnd: true)
            primary?.request(.acknowledge, of: id.number)
        }
    }

    private func outcome(
        _ id: RunID, _ status: ActionStatus, _ reply: [UInt8], _ entry: TestEntry<R>, isEnd: Bool
    ) -> Outcome<R.Reply> {
        if status == .rejected, !isEnd {
            return .rejected(reason: String(decoding: reply, as: UTF8.self), place: entry.place)
        }
        var writer = ByteWriter()
        withBytes(of: reply) { ReplyItem.write(status, $0, 0..<$0.byteCount, to: &writer) }
        let end = RunEnding(
            epoch: entry.place.epoch, sequence: entry.place.sequence, emissions: emissions[id.number] ?? 0,
            item: writer.bytes)
        return Outcome(end: end, of: id, coding: R.replyCoding)
    }

    /// What of an entry the test has to receive, if anything; the entry of an action is looked at by who sent it.
    func event(of entry: TestEntry<R>) -> TestEvent<R>? {
        switch entry.kind {
        case .action, .accepted: return nil
        case .emitted(let cause):
            guard !entry.mutations.isEmpty else { return nil }
            return TestEvent(source: words(for: cause), content: .entry(entry))
        case .finished(let id, let status, let bytes):
            let source = "the effect of \(words(for: id.number))"
            if status == .rejected {
                return TestEvent(source: source, content: .failure(String(decoding: bytes, as: UTF8.self)))
            }
            return entry.mutations.isEmpty ? nil : TestEvent(source: "the end of \(source)", content: .entry(entry))
        }
    }

    // MARK: - Words

    func words(for number: RequestNumber) -> String { actions[number] ?? "action \(number)" }

    private func words(for cause: EffectCause) -> String {
        switch cause {
        case .action(_, let number): "the effect of \(words(for: number))"
        case .source(let name): "source \(name)"
        case .time: "time"
        case .feedback(let name): "feedback \(name)"
        }
    }

    func words(for origin: EffectFailure.Origin) -> String {
        switch origin {
        case .action(let id): "the effect of \(words(for: id.number))"
        case .feedback(let name, let request): "feedback \(name) for \(request)"
        case .source(let name): "source \(name)"
        }
    }

    func words(for mutations: [R.Mutation]) -> String {
        mutations.count == 1 ? "\(mutations[0])" : "[\(mutations.map { "\($0)" }.joined(separator: ", "))]"
    }

    func words(for event: TestEvent<R>) -> String {
        switch event.content {
        case .entry(let entry): "\(words(for: entry.mutations)) from \(event.source)"
        case .failure(let reason): "the failure of \(event.source): \(reason)"
        }
    }

    /// Events that nobody received.
    func missed(_ when: String, _ events: [TestEvent<R>], at place: CallSite) {
        missed("not received, \(when)\n" + events.map { "  \(words(for: $0))" }.joined(separator: "\n"), at: place)
    }
}

import Counters
package import Lockstep
import SearchCache

/// A connection to one node, by which calls on objects are performed.
package struct ObjectStation: Sendable {
    /// The node's place: `tcp://HOST:PORT`.
    package let node: String
    let counters: RemoteStore<Counters>
    let workbench: RemoteStore<Workbench>
    let searches: RemoteStore<SearchCache>

    /// What a call came to.
    package enum Result: Sendable {
        case answered(ObjectOutput, Place?, SessionID?, RequestNumber?)
        /// Certainly without effect; with the reason.
        case failed(String)
        /// It may take effect at any time, or never.
        case unknown(PendingOutcome?, String)
    }

    /// Connects the stores of a client node.
    package init(_ node: Node, at endpoint: String) throws {
        self.node = endpoint
        counters = try node.remote(Counters.self, named: "counters")
        workbench = try node.remote(Workbench.self, named: Workbench.store)
        searches = try node.remote(SearchCache.self, named: "search")
    }

    /// Writes, and waits so long for the outcome.
    package func write(_ call: ObjectCall, timeout: Duration) async -> Result {
        switch call.action {
        case .add(let amount):
            await Self.send(counters, [.add(call.key, by: amount)], timeout, Self.output)
        default:
            if let action = Self.action(call) {
                await Self.send(workbench, [action], timeout) { .value($0) }
            } else {
                .failed("\(call) is not a write")
            }
        }
    }

    /// Sends many additions as one; the output is that of the last.
    package func write(_ calls: [ObjectCall], timeout: Duration) async -> Result {
        await Self.send(counters, calls.map { .add($0.key, by: 1) }, timeout, Self.output)
    }

    /// Asks what became of a write.
    package func outcome(
        of pending: PendingOutcome, _ call: ObjectCall, timeout: Duration
    ) async -> Result {
        if case .add = call.action { return await Self.ask(counters, pending, timeout, Self.output) }
        return await Self.ask(workbench, pending, timeout) { .value($0) }
    }

    /// Reads an object.
    package func read(_ key: String, _ consistency: ReadConsistency, timeout: Duration) async -> Result {
        do {
            if key.hasPrefix("search/") { return try await search(key, timeout: timeout) }
            if key.hasPrefix("counter/") {
                let answered = try await counters.ask(.get(key), consistency, timeout: timeout)
                guard case .value(let value) = answered.answer else { return .failed("another answer than a value") }
                return .answered(value.map { .value($0) } ?? .absent, answered.place, nil, nil)
            }
            let answered = try await workbench.ask(Self.query(key), consistency, timeout: timeout)
            return .answered(Self.output(answered.answer, key), answered.place, nil, nil)
        } catch {
            return .failed("\(error)")
        }
    }

    /// Searches for the word of a key; the output is the numbers of the texts that were found.
    private func search(_ key: String, timeout: Duration) async throws -> Result {
        let answer = try await searches.search("word" + key.dropFirst("search/".count), timeout: timeout)
        guard let page = answer.page, answer.failure == nil else {
            return .failed(answer.failure.map { "\($0)" } ?? "no page")
        }
        let texts = page.hits.map { hit in
            Int64(hit.title.split(separator: "/").last?.filter(\.isNumber) ?? "") ?? -1
        }
        return .answered(.list(texts), nil, nil, nil)
    }

    // MARK: - Between calls and actions

    private static func action(_ call: ObjectCall) -> Workbench.Action? {
        switch call.action {
        case .write(let value): .write(call.key, value)
        case .compareAndSet(let expected, let new): .compareAndSet(call.key, expected: expected, new: new)
        case .append(let value): .append(call.key, value)
        case .insert(let element): .insert(element)
        case .transfer(let from, let to, let amount): .transfer(from: from, to: to, amount: amount)
        case .replace(let seed): .replace(call.key, Document.text(seed: seed))
        case .add, .read: nil
        }
    }

    private static func query(_ key: String) -> Workbench.Query {
        if key == ObjectCall.accounts { return .balances }
        if key.hasPrefix("list/") { return .list(key) }
        if key.hasPrefix("document/") { return .document(key) }
        return .register(key)
    }

    private static func output(_ reply: Counters.Reply) -> ObjectOutput {
        if case .value(let value) = reply { .value(value) } else { .absent }
    }

    private static func output(_ answer: Workbench.Answer, _ key: String) -> ObjectOutput {
        switch answer {
        case .value(let value): return value.map { .value($0) } ?? .absent
        // A list that nobody appended to is read as an absent one.
        case .list(let list): return list.isEmpty ? .absent : .list(list)
        // What is no document of any seed is no output of the model.
        case .document(let text):
            guard let text else { return .absent }
            return Document.seed(of: text).map { .value($0) } ?? .list([Int64(text.utf8.count)])
        }
    }

    private static func send<R: Reactor>(
        _ store: RemoteStore<R>, _ actions: [R.Action], _ timeout: Duration, _ output: (R.Reply) -> ObjectOutput
    ) async -> Result {
        do {
            return result(of: try await store.send(contentsOf: actions, timeout: timeout), output)
        } catch let error as LockstepError where withoutEffect.contains(error.code) {
            return .failed("\(error)")
        } catch {
            return .unknown((error as? LockstepError)?.pending, "\(error)")
        }
    }

    /// The errors that promise that nothing was submitted.
    private static let withoutEffect: Set<LockstepError.Code> = [
        .timeout, .tooLarge, .stopped, .rejected, .unavailable, .refused,
    ]

    private static func ask<R: Reactor>(
        _ store: RemoteStore<R>, _ pending: PendingOutcome, _ timeout: Duration, _ output: (R.Reply) -> ObjectOutput
    ) async -> Result {
        do {
            return result(of: try await store.outcomes(of: pending, timeout: timeout), output)
        } catch {
            return .unknown(pending, "\(error)")
        }
    }

    /// One result for all outcomes: the last one's, or why one of them is none.
    private static func result<Reply>(
        of outcomes: Outcomes<Reply>, _ output: (Reply) -> ObjectOutput
    ) -> Result {
        var last = Result.failed("no outcome")
        var first: RequestNumber?
        for outcome in outcomes {
            switch outcome {
            case .committed(let receipt):
                first = first ?? receipt.number
                last = .answered(output(receipt.reply), receipt.place, receipt.session, first)
            case .rejected(_, let place): last = .answered(.rejected, place, nil, nil)
            case .void(let place): return .failed("given up before it reached the log, at \(place)")
            case .denied(let reason, let place): return .failed("denied at \(place): \(reason)")
            case .accepted, .failed, .cancelled: return .failed("an effect, which nothing here has")
            case .unreadable(let error, let place): return .failed("the reply at \(place) cannot be read: \(error)")
            }
        }
        return last
    }
}

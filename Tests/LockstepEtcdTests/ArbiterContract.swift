import LockstepCore
import LockstepNode

/// What every arbiter has to do, whichever it is; each check names what an arbiter does otherwise (PROTOCOL, R-75, R-76).
///
/// A check is given an arbiter whose cluster has nothing yet.
enum ArbiterContract: String, CaseIterable, Sendable {
    case createsOnce, keepsChannelsApart, givesTheLowestChannel, comparesTheRevision, comparesTheWholeValue
    case showsWhatIsThere, settlesASecondAsking, appliesOneOfMany, hintsAtChanges, endsItsHints, listsNodes
    case replacesANode, withdrawsANode, listsANodeWithAllStores

    private static let time = Duration.seconds(10)

    func findings(_ arbiter: any Arbiter, _ example: ArbiterExample) async throws -> [String] {
        var findings = Findings()
        switch self {
        case .createsOnce: try await Self.createsOnce(arbiter, example, &findings)
        case .keepsChannelsApart: try await Self.keepsChannelsApart(arbiter, example, &findings)
        case .givesTheLowestChannel: try await Self.givesTheLowestChannel(arbiter, example, &findings)
        case .comparesTheRevision: try await Self.comparesTheRevision(arbiter, example, &findings)
        case .comparesTheWholeValue: try await Self.comparesTheWholeValue(arbiter, example, &findings)
        case .showsWhatIsThere: try await Self.showsWhatIsThere(arbiter, example, &findings)
        case .settlesASecondAsking: try await Self.settlesASecondAsking(arbiter, example, &findings)
        case .appliesOneOfMany: try await Self.appliesOneOfMany(arbiter, example, &findings)
        case .hintsAtChanges: try await Self.hintsAtChanges(arbiter, example, &findings)
        case .endsItsHints: try await Self.endsItsHints(arbiter, &findings)
        case .listsNodes: try await Self.listsNodes(arbiter, &findings)
        case .replacesANode: try await Self.replacesANode(arbiter, &findings)
        case .withdrawsANode: try await Self.withdrawsANode(arbiter, &findings)
        case .listsANodeWithAllStores: try await Self.listsANodeWithAllStores(arbiter, &findings)
        }
        return findings.texts
    }

    /// Whether it holds only if it takes less time than a lease lasts.
    var isOfLeases: Bool {
        [.listsNodes, .replacesANode, .withdrawsANode, .listsANodeWithAllStores].contains(self)
    }

    struct Findings {
        var texts: [String] = []
        mutating func expect(_ holds: Bool, _ text: String) { if !holds { texts.append(text) } }
    }

    // MARK: - Creation

    private static func createsOnce(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let missing = try await arbiter.record(of: example.store, within: time)
        findings.expect(missing == nil, "a record is there before it was created")
        let first = try await example.created(in: arbiter)
        let read = try await arbiter.record(of: example.store, within: time)
        findings.expect(read == first, "the record is read as it was created")
        let again = await arbiter.create(first.record, of: example.store, within: time)
        findings.expect(again == .exists(first), "a second creation shows the first, and not \(again)")
        let other = await arbiter.create(example.record(channel: 4), of: example.store, within: time)
        findings.expect(other == .exists(first), "another record is refused, and not \(other)")
        let last = try await arbiter.record(of: example.store, within: time)
        findings.expect(last == first, "the record is still the first")
        let channels = try await arbiter.channels(within: time)
        findings.expect(channels == [Channel(rawValue: 3): example.store], "its channel was given, and no other")
    }

    private static func keepsChannelsApart(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        _ = try await example.created(in: arbiter)
        let taken = await arbiter.create(example.record(of: "users", channel: 3), of: "users", within: time)
        findings.expect(taken == .channelTaken(by: example.store), "a channel is given once, and not \(taken)")
        let foreign = await arbiter.restore(example.record(of: "users", channel: 3), of: "users", within: time)
        findings.expect(
            foreign == .channelTaken(by: example.store), "another's channel is not taken back, and not \(foreign)")
        let free = await arbiter.restore(example.record(of: "users", channel: 4), of: "users", within: time)
        findings.expect(
            free == .channelTaken(by: "users"), "a channel that nobody has is not taken back, and not \(free)")
        let missing = try await arbiter.record(of: "users", within: time)
        findings.expect(missing == nil, "no record was written")
    }

    private static func givesTheLowestChannel(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        for (number, name) in ["a", "b", "c"].enumerated() {
            let (record, outcome) = try await arbiter.create(name, within: time) {
                example.record(of: name, channel: $0.rawValue)
            }
            findings.expect(record.channel.rawValue == UInt16(number), "\(name) gets the lowest channel")
            guard case .created = outcome else { return findings.expect(false, "\(name) is created: \(outcome)") }
        }
    }

    // MARK: - Compare and set

    private static func comparesTheRevision(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let first = try await example.created(in: arbiter)
        let later = StoredRecord(first.record, revision: first.revision + 1)
        let outcome = await arbiter.transact(example.adding(2, to: later), on: example.store, within: time)
        findings.expect(outcome == .refused(first), "another revision is refused, and not \(outcome)")
        let read = try await arbiter.record(of: example.store, within: time)
        findings.expect(read == first, "nothing was written")
    }

    private static func comparesTheWholeValue(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let first = try await example.created(in: arbiter)
        var other = first
        other.record.isUnclean = true
        let outcome = await arbiter.transact(example.adding(2, to: other), on: example.store, within: time)
        findings.expect(outcome == .refused(first), "another value is refused, and not \(outcome)")
        let read = try await arbiter.record(of: example.store, within: time)
        findings.expect(read == first, "nothing was written")
    }

    private static func showsWhatIsThere(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let missing = StoredRecord(example.record(), revision: 1)
        let none = await arbiter.transact(example.adding(2, to: missing), on: example.store, within: time)
        findings.expect(none == .refused(nil), "a missing record is shown as missing, and not \(none)")
        let first = try await example.created(in: arbiter)
        let winner = example.adding(2, to: first)
        guard case .applied(let revision) = await arbiter.transact(winner, on: example.store, within: time) else {
            return findings.expect(false, "what compares with the record is applied")
        }
        findings.expect(revision > first.revision, "revisions grow")
        let now = StoredRecord(winner.proposed, revision: revision)
        let read = try await arbiter.record(of: example.store, within: time)
        findings.expect(read == now, "the record is read as it was written, with its revision")
        let loser = example.adding(3, to: first)
        let outcome = await arbiter.transact(loser, on: example.store, within: time)
        findings.expect(outcome == .refused(now), "a failed comparison shows the record, and not \(outcome)")
        findings.expect(loser.settlement(by: now) == .refused, "the attempt is settled")
    }

    private static func settlesASecondAsking(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let attempt = example.adding(2, to: try await example.created(in: arbiter))
        guard case .applied(let revision) = await arbiter.transact(attempt, on: example.store, within: time) else {
            return findings.expect(false, "the first asking is applied")
        }
        let again = await arbiter.transact(attempt, on: example.store, within: time)
        let own = StoredRecord(attempt.proposed, revision: revision)
        findings.expect(again == .refused(own), "the second asking shows the own record, and not \(again)")
        findings.expect(attempt.settlement(by: own) == .applied, "which settles it")
    }

    private static func appliesOneOfMany(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let first = try await example.created(in: arbiter)
        let applied = await withTaskGroup(of: Int.self) { group in
            for number in 2...9 {
                group.addTask {
                    let attempt = example.adding(number, to: first)
                    guard case .applied = await arbiter.transact(attempt, on: example.store, within: Self.time) else {
                        return 0
                    }
                    return 1
                }
            }
            return await group.reduce(0, +)
        }
        findings.expect(applied == 1, "one of eight is applied, and not \(applied)")
    }

    // MARK: - Hints and nodes

    private static func hintsAtChanges(
        _ arbiter: any Arbiter, _ example: ArbiterExample, _ findings: inout Findings
    ) async throws {
        let (hints, continuation) = AsyncStream.makeStream(of: RecordHint.self)
        let seen = Seen<RecordHint>()
        let isHinted = try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                defer { continuation.finish() }
                // It is cancelled when everything was seen.
                do {
                    try await arbiter.watch(for: .seconds(8), within: Self.time) { continuation.yield($0) }
                } catch is CancellationError {}
                return false
            }
            group.addTask {
                var last: RecordHint?
                for await hint in hints {
                    seen.note(hint)
                    if hint == .began {
                        let attempt = example.adding(2, to: try await example.created(in: arbiter))
                        if case .applied(let revision) = await arbiter.transact(
                            attempt, on: example.store, within: Self.time)
                        {
                            last = .changed(store: example.store, revision: revision)
                        }
                    }
                    if hint == last { return true }
                }
                return false
            }
            var isHinted = false
            for try await result in group {
                isHinted = isHinted || result
                if isHinted { break }
            }
            group.cancelAll()
            return isHinted
        }
        findings.expect(seen.all.first == .began, "the first hint says that the others come")
        findings.expect(isHinted, "the last change was not hinted at: \(seen.all)")
    }

    private static func endsItsHints(_ arbiter: any Arbiter, _ findings: inout Findings) async throws {
        let begin = ContinuousClock.now
        try await arbiter.watch(for: .milliseconds(200), within: .seconds(3)) { _ in }
        findings.expect(ContinuousClock.now - begin < .seconds(8), "a watch ends by its time")
        let cancelled = await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                do {
                    try await arbiter.watch(for: .seconds(60), within: .seconds(3)) { _ in }
                    return false
                } catch { return error is CancellationError }
            }
            // It is cancelled whether it has begun or not.
            try? await Task.sleep(for: .milliseconds(200))
            group.cancelAll()
            return await group.next() ?? false
        }
        findings.expect(cancelled, "a watch that is cancelled says so")
    }

    private static func listsNodes(_ arbiter: any Arbiter, _ findings: inout Findings) async throws {
        let none = try await arbiter.nodes(within: time)
        findings.expect(none == [], "nobody is listed")
        let second = try await arbiter.register(ArbiterExample.address(2), within: time)
        let first = try await arbiter.register(ArbiterExample.address(1), within: time)
        let both = try await arbiter.nodes(within: time)
        findings.expect(
            both == [ArbiterExample.address(1), ArbiterExample.address(2)], "both are listed, and not \(both)")
        for lease in [first, second] {
            let isAlive = try await arbiter.keepAlive(lease, within: time)
            findings.expect(isAlive, "a lease is renewed")
        }
        let unknown = try await arbiter.keepAlive(NodeLease(node: first.node, id: 77), within: time)
        findings.expect(!unknown, "a lease that nobody gave is not renewed")
        let stranger = try await arbiter.keepAlive(NodeLease(node: first.node, id: second.id), within: time)
        findings.expect(!stranger, "a node is not listed under the lease of another")
    }

    private static func listsANodeWithAllStores(_ arbiter: any Arbiter, _ findings: inout Findings) async throws {
        var address = ArbiterExample.address(1)
        address.journals = (1...StoreRegistry.storeBound).map { number in
            NodeAddress.Journal(
                store: StoreID(rawValue: UInt128(number)), incarnation: Incarnation(rawValue: UInt128(number)))
        }
        _ = try await arbiter.register(address, within: time)
        let listed = try await arbiter.nodes(within: time)
        findings.expect(listed == [address], "a node with \(address.journals.count) stores is listed with all of them")
    }

    private static func replacesANode(_ arbiter: any Arbiter, _ findings: inout Findings) async throws {
        let old = try await arbiter.register(ArbiterExample.address(1, boot: 1), within: time)
        let new = try await arbiter.register(ArbiterExample.address(1, boot: 2), within: time)
        let listed = try await arbiter.nodes(within: time)
        findings.expect(listed == [ArbiterExample.address(1, boot: 2)], "the later life is listed, and not \(listed)")
        let isOldAlive = try await arbiter.keepAlive(old, within: time)
        let isNewAlive = try await arbiter.keepAlive(new, within: time)
        findings.expect(!isOldAlive && isNewAlive, "only the later life's lease is renewed")
    }

    private static func withdrawsANode(_ arbiter: any Arbiter, _ findings: inout Findings) async throws {
        let old = try await arbiter.register(ArbiterExample.address(1, boot: 1), within: time)
        let new = try await arbiter.register(ArbiterExample.address(1, boot: 2), within: time)
        try await arbiter.withdraw(old, within: time)
        let kept = try await arbiter.nodes(within: time)
        findings.expect(kept == [ArbiterExample.address(1, boot: 2)], "the later life stays listed, and not \(kept)")
        // The second time there is nothing to do.
        for _ in 1...2 { try await arbiter.withdraw(new, within: time) }
        let gone = try await arbiter.nodes(within: time)
        findings.expect(gone == [], "who withdraws is listed no longer, and not \(gone)")
        let isAlive = try await arbiter.keepAlive(new, within: time)
        findings.expect(!isAlive, "a lease that was given back is not renewed")
        let (registrations, continuation) = AsyncStream.makeStream(of: RegistrationEvent.self)
        await arbiter.keepRegistered(
            ArbiterExample.address(3), while: { for await event in registrations where event == .registered { break } }
        ) { continuation.yield($0) }
        let left = try await arbiter.nodes(within: time)
        findings.expect(left == [], "who stops in order takes itself off the list, and not \(left)")
    }
}

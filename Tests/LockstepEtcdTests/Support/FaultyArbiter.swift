import LockstepCore
import LockstepNode
import Synchronization

/// What happens to the next write on its way, as networks do it.
enum ArbiterFault: Hashable, Sendable, CaseIterable {
    /// It is done, and the answer is lost.
    case losesAnswer
    /// It never arrives.
    case losesRequest
    /// It arrives twice, and the second answer is the one that is heard.
    case doubles
    /// It is done only after the caller was told that nothing is known.
    case delays
}

/// What an arbiter may not do; the contract must notice each.
enum ArbiterDefect: String, CaseIterable, Sendable {
    case forgetsTheRevision, forgetsTheValue, createsOver, sharesChannels, hidesTheOwnRecord, showsNothing
    case hintsAtNothing, neverEndsItsHints, losesNodes, renewsEverything, appliesAll, skipsAChannel
    case keepsWhoWithdraws, withdrawsTheNewLife

    /// The check that is made for it.
    var check: ArbiterContract {
        switch self {
        case .forgetsTheRevision: .comparesTheRevision
        case .forgetsTheValue: .comparesTheWholeValue
        case .createsOver: .createsOnce
        case .sharesChannels: .keepsChannelsApart
        case .hidesTheOwnRecord: .settlesASecondAsking
        case .showsNothing: .showsWhatIsThere
        case .hintsAtNothing: .hintsAtChanges
        case .neverEndsItsHints: .endsItsHints
        case .losesNodes: .listsNodes
        case .renewsEverything: .replacesANode
        case .appliesAll: .appliesOneOfMany
        case .skipsAChannel: .givesTheLowestChannel
        case .keepsWhoWithdraws, .withdrawsTheNewLife: .withdrawsANode
        }
    }
}

/// An arbiter with faults of the network, one for each write that was told, or with a defect.
final class FaultyArbiter: Arbiter {
    private let base: any Arbiter
    private let defect: ArbiterDefect?
    private let state = Mutex(State())

    private struct State: Sendable {
        var faults: [ArbiterFault] = []
        var late: [@Sendable () async -> Void] = []
    }

    init(_ base: any Arbiter, defect: ArbiterDefect? = nil) {
        self.base = base
        self.defect = defect
    }

    /// Names what happens to the next writes, in their order.
    func plan(_ faults: [ArbiterFault]) { state.withLock { $0.faults = faults } }

    /// Lets arrive what was held back.
    func deliver() async {
        let late = state.withLock { state in
            defer { state.late = [] }
            return state.late
        }
        for write in late { await write() }
    }

    private func write<Outcome: Sendable>(
        unknown: Outcome, _ body: @escaping @Sendable @concurrent () async -> Outcome
    ) async -> Outcome {
        switch state.withLock({ $0.faults.isEmpty ? nil : $0.faults.removeFirst() }) {
        case nil: return await body()
        case .losesAnswer:
            _ = await body()
            return unknown
        case .losesRequest: return unknown
        case .doubles:
            _ = await body()
            return await body()
        case .delays:
            state.withLock { $0.late.append { _ = await body() } }
            return unknown
        }
    }

    // MARK: - Arbiter

    @concurrent func record(of store: String, within limit: Duration) async throws -> StoredRecord? {
        try await base.record(of: store, within: limit)
    }

    @concurrent func transact(_ attempt: RecordAttempt, on store: String, within limit: Duration) async
        -> AttemptOutcome
    {
        let (base, defect) = (base, defect)
        return await write(unknown: .unknown("the answer was lost")) {
            var attempt = attempt
            // A read that fails leaves the attempt as it is, and the check then finds nothing.
            if let there = try? await base.record(of: store, within: limit) {
                let compared = attempt.compared
                if defect == .forgetsTheRevision, there.record == compared.record {
                    attempt = RecordAttempt(replacing: there, with: attempt.proposed)
                }
                if defect == .forgetsTheValue, there.revision == compared.revision {
                    attempt = RecordAttempt(replacing: there, with: attempt.proposed)
                }
            }
            let outcome = await base.transact(attempt, on: store, within: limit)
            guard case .refused(let there) = outcome else { return outcome }
            if defect == .showsNothing { return .refused(nil) }
            if defect == .appliesAll { return .applied(revision: there?.revision ?? 1) }
            // The mistake that elects a member nobody waited for.
            if defect == .hidesTheOwnRecord, there?.record.attempt == attempt.attempt {
                return .refused(attempt.compared)
            }
            return outcome
        }
    }

    @concurrent func create(_ record: ConfigurationRecord, of store: String, within limit: Duration) async
        -> CreationOutcome
    {
        let (base, defect) = (base, defect)
        return await write(unknown: .unknown("the answer was lost")) {
            let outcome = await base.create(record, of: store, within: limit)
            switch (defect, outcome) {
            case (.createsOver, .exists(let there)): return .created(revision: there.revision)
            case (.sharesChannels, .channelTaken): return .created(revision: 1)
            default: return outcome
            }
        }
    }

    @concurrent func restore(_ record: ConfigurationRecord, of store: String, within limit: Duration) async
        -> CreationOutcome
    {
        let (base, defect) = (base, defect)
        return await write(unknown: .unknown("the answer was lost")) {
            let outcome = await base.restore(record, of: store, within: limit)
            if defect == .sharesChannels, case .channelTaken = outcome { return .created(revision: 1) }
            return outcome
        }
    }

    @concurrent func channels(within limit: Duration) async throws -> [Channel: String] {
        let channels = try await base.channels(within: limit)
        let none = Channel(rawValue: 0)
        return defect == .skipsAChannel ? channels.merging([none: "nobody"]) { first, _ in first } : channels
    }

    @concurrent func watch(
        for duration: Duration, within limit: Duration, _ hint: @escaping @Sendable (RecordHint) -> Void
    ) async throws {
        let silent = defect == .hintsAtNothing
        let longer = defect == .neverEndsItsHints ? Duration.seconds(10) : .zero
        try await base.watch(for: duration + longer, within: limit) { if $0 == .began || !silent { hint($0) } }
    }

    @concurrent func register(_ address: NodeAddress, within limit: Duration) async throws -> NodeLease {
        try await base.register(address, within: limit)
    }

    @concurrent func keepAlive(_ lease: NodeLease, within limit: Duration) async throws -> Bool {
        if defect == .renewsEverything { return true }
        return try await base.keepAlive(lease, within: limit)
    }

    @concurrent func withdraw(_ lease: NodeLease, within limit: Duration) async throws {
        if defect == .keepsWhoWithdraws { return }
        try await base.withdraw(lease, within: limit)
        guard defect == .withdrawsTheNewLife else { return }
        // Whatever lease the node has: the next number is that of its later life.
        try await base.withdraw(NodeLease(node: lease.node, id: lease.id + 1), within: limit)
    }

    @concurrent func nodes(within limit: Duration) async throws -> [NodeAddress] {
        let nodes = try await base.nodes(within: limit)
        return defect == .losesNodes ? Array(nodes.dropLast()) : nodes
    }

    @concurrent func close() async { await base.close() }
}

import LockstepCore
import LockstepNode
import Testing

/// Alarms that only one role takes back end with it, since nobody else would ever end them (PROTOCOL, R-86, R-89).
@Suite(.serialized, .timeLimit(.minutes(3))) struct RoleAlarmTests {
    /// Raises alarms of a node's store, as its machines do.
    private static func raise(_ kinds: [AlarmKind], at life: DataNodes.Life) {
        life.port.inbox.ask(Errand(run: { host in for kind in kinds { host.raise(kind, "as a test wants it") } }))
    }

    /// Those of the kinds that a node shows.
    private static func shown(_ kinds: [AlarmKind], at life: DataNodes.Life) async throws -> [AlarmKind] {
        let shown = try await life.port.status().alarms.compactMap(\.kind)
        return kinds.filter { shown.contains($0) }
    }

    /// What a primary has raised ends with its post: another one has the cause before it now, and says so itself.
    @Test func whatAPrimaryHasRaisedEndsWithItsPost() async throws {
        let kinds: [AlarmKind] = [.primaryBehind, .duplicateNode, .sessionsNearLimit]
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            let first = try await cluster.primary(with: 2)
            let old = lives[first]
            try await until { try await old.port.status().phase == .admitting }
            Self.raise(kinds, at: old)
            #expect(try await Self.shown(kinds, at: old) == kinds)
            try await cluster.giveAway(old, to: 1 - first)
            try await until { try await old.port.status().phase == .live }
            #expect(try await Self.shown(kinds, at: old) == [])
        }
    }

    /// What a standby has raised ends when it is the primary, which has the log and the arbiter's word.
    @Test func whatAStandbyHasRaisedEndsWhenItWins() async throws {
        let kinds: [AlarmKind] = [.ahead, .diskFull, .noPrimary, .arbiterSetBack]
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            let first = try await cluster.primary(with: 2)
            let (old, next) = (lives[first], lives[1 - first])
            try await until { try await old.port.status().phase == .admitting }
            try await until { try await next.port.status().phase == .live }
            Self.raise(kinds, at: next)
            #expect(try await Self.shown([.ahead], at: next) == [.ahead])
            try await cluster.giveAway(old, to: 1 - first)
            try await until { try await next.port.status().phase == .admitting }
            #expect(try await Self.shown(kinds, at: next) == [])
        }
    }
}

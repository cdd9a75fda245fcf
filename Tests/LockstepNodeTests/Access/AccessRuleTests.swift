import LockstepCore
import LockstepNode
import Testing

/// Who may say what: the whole table, written a second time from the side of the roles (PROTOCOL R-68).
@Suite struct AccessRuleTests {
    /// What one role may send; `nil` as link: connections and HELLO.
    private struct Rights {
        var ingress: Set<MessageKind>
        var bulk: Set<MessageKind>
        var replication: Set<MessageKind> = []
        var mayFollow = false
        var hello: Set<PeerRole> = []
    }

    private static let expected: [AccessRole: Rights] = {
        let reader: Set<MessageKind> = [.hello, .read, .watch, .unwatch, .adminRequest]
        let session: Set<MessageKind> = [.open, .resume, .keepAlive, .close]
        let joiner: Set<MessageKind> = [.sync, .chunkRequest, .repairRequest, .adminRequest]
        let writer = reader.union(session).union([.submit, .runRequest, .query])
        return [
            .reader: Rights(ingress: reader, bulk: [.adminRequest], hello: [.client]),
            .writer: Rights(ingress: writer, bulk: [.adminRequest], hello: [.client]),
            .replica: Rights(
                ingress: reader.union(session), bulk: joiner, mayFollow: true, hello: [.client, .replica]),
            .node: Rights(
                ingress: writer, bulk: joiner,
                replication: [.fetch, .acknowledge, .confirm, .recordRequest, .stepDown],
                mayFollow: true, hello: [.client, .replica]),
            .admin: Rights(ingress: [.adminRequest], bulk: [.adminRequest]),
        ]
    }()

    @Test(arguments: AccessRole.allCases) func aRoleMaySendWhatTheTableSays(role: AccessRole) throws {
        let rights = try #require(Self.expected[role])
        let principal = Principal(name: "a", roles: [role])
        func allowed(_ link: AccessLink) -> Set<MessageKind> {
            Set(MessageKind.allCases.filter { principal.hasAny(of: AccessRule.roles(for: $0, on: link)) })
        }
        #expect(allowed(.ingress) == rights.ingress)
        #expect(allowed(.bulk) == rights.bulk)
        #expect(allowed(.replication) == rights.replication)
        #expect(principal.hasAny(of: AccessRule.rolesToConnect(to: .replication)) == !rights.replication.isEmpty)
        #expect(allowed(.broadcast) == [])
        #expect(principal.hasAny(of: AccessRule.rolesToConnect(to: .broadcast)) == rights.mayFollow)
        #expect(principal.hasAny(of: AccessRule.rolesToConnect(to: .ingress)))
        #expect(principal.hasAny(of: AccessRule.rolesToConnect(to: .bulk)))
        for peer in [PeerRole.client, .replica] {
            #expect(principal.hasAny(of: AccessRule.roles(forHelloAs: peer)) == rights.hello.contains(peer))
        }
    }

    /// Nobody is without a role in the list, but one without any may do nothing.
    @Test func whoHasNoRoleMayDoNothing() {
        let nobody = Principal(name: "a", roles: [])
        for link in AccessLink.allCases {
            #expect(!nobody.hasAny(of: AccessRule.rolesToConnect(to: link)))
            for kind in MessageKind.allCases { #expect(!nobody.hasAny(of: AccessRule.roles(for: kind, on: link))) }
        }
    }

    /// What only a node says, nobody may say to it, and every request of the protocol has somebody who may.
    @Test func everyRequestHasItsSender() {
        for kind in MessageKind.allCases {
            let links: [AccessLink] = [.ingress, .bulk]
            let isForSomebody = links.contains { !AccessRule.roles(for: kind, on: $0).isEmpty }
            #expect(isForSomebody == (kind.isRequest || kind == .adminRequest), "\(kind)")
        }
    }
}

import Counters
import Foundation
import Lockstep
import LockstepConsole
import LockstepNode
import Testing

/// What is kept when the log begins anew: a volatile primary that restarts counts from 1 in a higher epoch.
@Suite(.timeLimit(.minutes(5))) struct StoreFollowerTests {
    private func place(_ epoch: UInt64, _ sequence: UInt64) -> Place {
        Place(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence))
    }

    /// PROTOCOL R-5, R-43: only within an epoch is a higher number of the same log for certain.
    ///
    /// A log that begins anew has later places with lower numbers.
    @Test func aGapLiesWithinAnEpoch() {
        #expect(place(1, 1_000) < place(2, 3) && SameLog.gap(from: place(1, 1_000), to: place(2, 3)) == nil)
        #expect(SameLog.gap(from: place(1, 1_000), to: place(1, 1_000)) == 0)
        #expect(SameLog.gap(from: place(1, 1_000), to: place(1, 1_300)) == 300)
        for (epoch, sequence) in [(1, 999), (2, 999), (2, 1_000), (2, 1_001), (2, 5_000), (0, 1_000), (0, 1_001)] {
            let other = place(UInt64(epoch), UInt64(sequence))
            #expect(SameLog.gap(from: place(1, 1_000), to: other) == nil, "\(other)")
        }
    }

    /// PROTOCOL R-5: epochs never fall, and each begins with an entry that is not the reactor's.
    @Test func anEntryOfAnotherLogDoesNotFollow() {
        for (epoch, sequence) in [(1, 1_001), (1, 1_002), (1, 9_000), (2, 1_002), (3, 9_000)] {
            let next = place(UInt64(epoch), UInt64(sequence))
            #expect(SameLog.mayFollow(next, after: place(1, 1_000)), "\(next)")
        }
        for (epoch, sequence) in [(1, 999), (1, 1_000), (2, 3), (2, 1_000), (2, 1_001), (0, 1_001), (0, 9_000)] {
            let next = place(UInt64(epoch), UInt64(sequence))
            #expect(!SameLog.mayFollow(next, after: place(1, 1_000)), "\(next)")
        }
        #expect(SameLog.mayFollow(place(7, 2), after: .start) && !SameLog.mayFollow(place(7, 1), after: .start))
    }

    /// PROTOCOL R-43: a page of a replica that stays open shows the states and entries of the new log, and none of the
    /// log that is gone.
    @Test func aLogThatBeginsAnewIsShownInPlaceOfTheOld() async throws {
        // Below the ports that systems give away.
        let endpoint = "tcp://127.0.0.1:\(20_000 + 4 * Int.random(in: 2_750..<2_900))"
        let site = try Site(.replica(of: endpoint))
        try await site.whileStarted {
            let events = try await site.events()
            let old = try await Self.live(at: endpoint, adding: 40, shownBy: site)
            let new = try await Self.live(at: endpoint, adding: 3, shownBy: site)
            #expect(new.epoch > old.epoch && new.sequence < old.sequence)
            let entries = try await site.json("/api/entries")["entries"] as? [[String: Any]] ?? []
            let epochs = Set(entries.compactMap { $0["epoch"] as? UInt64 })
            #expect(epochs.isSubset(of: [new.epoch.rawValue]), "\(epochs)")
            let values = try await site.json("/api/values", ["path": "values.visits", "after": "0"])
            let numbers = (values["points"] as? [[String: Any]] ?? []).compactMap { $0["value"] as? Int }
            #expect(numbers.last == 3 && numbers.allSatisfy { $0 <= 3 }, "\(numbers)")
            withExtendedLifetime(events) {}
        }
    }

    /// One life of a primary without a journal: it ends when the page has the state after its last entry.
    private static func live(at endpoint: String, adding count: Int64, shownBy site: Site) async throws -> Place {
        var configuration = NodeConfiguration.primary(listen: endpoint, journal: .memory)
        configuration.cluster = ClusterID(rawValue: 44)
        let node = try Node(configuration)
        let store = try node.store(Counters(), named: "counters")
        return try await node.whileRunning {
            var last = Place.start
            for _ in 1...count { last = try await store.send(.add("visits", by: 1)).place }
            while true {
                // It may begin with a state after that entry, since the node's own entries come between.
                let newest = site.shown.kept().lastState ?? 0
                let state = try await site.json("/api/state", ["at": "\(newest)"])
                let isOfThisLife = state["epoch"] as? UInt64 == last.epoch.rawValue
                if isOfThisLife, (state["json"] as? String)?.contains(#""visits":\#(count)}"#) == true { return last }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }
}

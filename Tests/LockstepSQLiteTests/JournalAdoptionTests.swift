import Foundation
import Lockstep
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// A replica's journal that belongs to no cluster until its node has met one (PROTOCOL R-9).
@Suite(.timeLimit(.minutes(5)))
struct JournalAdoptionTests {
    let folder = JournalFolder()
    private let channel = Channel(rawValue: 9)

    /// Goal: a new journal of a replica has no cluster; what it adopts is there after reopening, and is written in.
    @Test func anEmptyJournalAdoptsAClusterForGood() async throws {
        let journal = try unborn()
        #expect(journal.identity.cluster == ClusterID.none)
        let incarnation = journal.identity.incarnation
        try await journal.adopted(folder.cluster, channel)
        #expect(journal.identity.store == folder.store && journal.identity.channel == channel)
        journal.close()
        let reopened = try folder.journal()
        #expect(try reopened.recovered() == Recovered())
        #expect(reopened.identity.cluster == folder.cluster && reopened.identity.channel == channel)
        #expect(reopened.identity.incarnation == incarnation)
        var history = History(store: folder.store)
        try await reopened.appended([try history.add()])
        reopened.close()
        #expect(try folder.recovered().batches == history.batches)
    }

    /// Goal: a crash at any step leaves a journal that opens: the files as they are after each step, also with the mark
    /// of the step before (PROTOCOL ).
    @Test func aCrashInBetweenLeavesAJournalThatOpens() async throws {
        let journal = try unborn()
        let before = try folder.copy()
        try await journal.adopted(folder.cluster, channel)
        let after = try folder.copy()
        journal.close()
        for copy in [before, after] {
            let opened = try copy.journal()
            #expect(try opened.recovered() == Recovered())
            opened.close()
        }
        // The transaction is durable, the mark was not written: one generation behind.
        let torn = try after.copy()
        try FileManager.default.removeItem(atPath: torn.mark)
        try FileManager.default.copyItem(atPath: before.mark, toPath: torn.mark)
        let opened = try torn.journal()
        #expect(try opened.recovered() == Recovered())
        #expect(opened.identity.cluster == folder.cluster)
        var history = History(store: folder.store)
        try await opened.appended([try history.add()])
        opened.close()
        #expect(try torn.recovered().batches == history.batches)
    }

    /// Goal: a journal with entries keeps its cluster, whoever asks.
    @Test func aJournalWithEntriesKeepsItsCluster() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        await #expect(throws: JournalFailure.self) { try await journal.adopted(ClusterID(rawValue: 7), channel) }
        #expect(journal.identity.cluster == folder.cluster)
        journal.close()
        #expect(try folder.recovered().batches == history.batches)
    }

    /// Goal: the line that the manual leads to works: a replica with a journal that is made on the way, and no word about a
    /// cluster, joins, and goes on from its journal when it is started again, also while nobody is there (PROTOCOL R-9,
    ///
    @Test func aReplicaIsMadeByOneLine() async throws {
        let (source, copy) = (folder.path + "/source", folder.path + "/copy")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .sqlite(at: source, create: true)))
        let votes = try primary.store(ReadmePageTests.Votes(), named: "votes")
        let endpoint = try await primary.whileRunning {
            try await votes.whenLive()
            let endpoint = try #require(await primary.ingressEndpoint)
            for round in 1...2 {
                _ = try await votes.send(.vote("Ada"))
                let replica = try Node(.replica(of: endpoint, journal: .sqlite(at: copy, create: true)))
                let seen = try replica.store(ReadmePageTests.Votes(), named: "votes")
                try await replica.whileRunning {
                    try await seen.whenLive()
                    #expect(try await seen.read(.linearizable) { $0.votes["Ada"] } == round)
                }
            }
            return endpoint
        }
        let alone = try Node(.replica(of: endpoint, journal: .sqlite(at: copy, create: true)))
        let kept = try alone.store(ReadmePageTests.Votes(), named: "votes")
        let count = try await alone.whileRunning { try await kept.read { $0.votes["Ada"] } }
        #expect(count == 2)
    }

    private func unborn() throws -> SQLiteJournal {
        var request = JournalRequest(
            cluster: nil, storeName: JournalFolder.storeName, nodeName: "node-1", channel: Channel(rawValue: 3))
        request.isForReplica = true
        let journal = try SQLiteJournal(
            folder: folder.path, request: request, create: true, tuning: JournalFolder.smallTuning)
        _ = try journal.recovered()
        return journal
    }
}

extension SQLiteJournal {
    /// Adopts, and throws ``JournalFailure`` if that fails.
    fileprivate func adopted(_ cluster: ClusterID, _ channel: Channel) async throws {
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            adopt(cluster: cluster, channel: channel) { done.resume(with: $0.mapError { $0 }) }
        }
    }
}

import Foundation
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Testing

extension IntegrationTests {
    /// A replica's folder that is served without `--replica-of` is refused; promoted, served for a moment and demoted it
    /// follows again, and the primary, which runs all the while, admits (PROTOCOL ).
    @Test func aForgottenFlagMakesNoSecondPrimary() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let endpoint = cluster.endpoint(0)
            try await Bench.withClient(of: endpoint) { try await Bench.add(100, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(1, signal: SIGTERM)
            let folder = cluster.node(1)
            let alone = ["serve", "--data", folder.path, "--listen", cluster.endpoint(1)]
            let refused = try ChildProcess.run(Bench.program, alone)
            let advice = "lockstep promote --data \(folder.path)"
            // No restart makes it right, so the units leave it (deploy/README.md, exit statuses).
            #expect(refused.status == 64 && refused.errors.contains(advice), "\(refused)")
            #expect(!refused.errors.contains("changesRole"), "\(refused)")

            let asked = try Bench.lockstep("promote", "--data", folder.path)
            #expect(asked.status == 64 && asked.errors.contains("--yes"), "\(asked)")
            let promoted = try Bench.lockstep("promote", "--data", folder.path, "--yes")
            #expect(promoted.status == 0 && promoted.output.contains("must never come back"), "\(promoted)")
            for store in ["counters", "search"] { #expect(promoted.output.contains(store)) }
            let mistaken = try ChildProcess("mistaken", Bench.program, alone, log: cluster.folder + "/mistaken.log")
            try await Bench.wait("the promoted node") { await folder.isReady() }
            mistaken.end(SIGTERM)

            let back = try ChildProcess.run(Bench.program, alone + ["--replica-of", endpoint])
            #expect(back.status == 64 && back.errors.contains("lockstep demote --data \(folder.path)"), "\(back)")
            let demoted = try Bench.lockstep("demote", "--data", folder.path, "--yes")
            #expect(demoted.status == 0 && demoted.output.contains("kept aside"), "\(demoted)")
            try cluster.start(1)
            try await cluster.waitUntilReady()
            try await Bench.withClient(of: endpoint) { try await Bench.add(100, to: $0, prefix: "b/") }
            _ = try await cluster.waitUntilEqual()
            let alarms = try await cluster.node(0).decodedStatus().stores.flatMap(\.alarms)
            #expect(alarms.isEmpty, "\(alarms)")
        }
    }

    /// A folder that joins a cluster is a replica's before its first start, too (PROTOCOL R-49).
    ///
    /// Recovered from a node and promoted, it is a primary's, which hears that node before it admits.
    @Test func aNewFolderOfAClusterIsNoPrimarys() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let folder = cluster.folder + "/new"
            let joins = ["init", "--data", folder, "--node", "new", "--cluster", cluster.cluster]
            #expect(try ChildProcess.run(Bench.program, joins).status == 0)
            // As an interrupted one leaves it: it is run again.
            try FileManager.default.removeItem(atPath: folder + "/node.json")
            #expect(try ChildProcess.run(Bench.program, joins).status == 0)
            let alone = ["serve", "--data", folder, "--listen", cluster.endpoint(2)]
            func expectRefusal() throws {
                let refused = try ChildProcess.run(Bench.program, alone)
                #expect(refused.status == 64 && refused.errors.contains("is a replica's"), "\(refused)")
                #expect(refused.errors.contains("--replica-of"), "\(refused)")
                #expect(refused.errors.contains("lockstep promote --data \(folder)"), "\(refused)")
            }
            try expectRefusal()
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(10, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()

            cluster.end(0, signal: SIGKILL)
            let recovered = try Bench.lockstep("recover", "--data", folder, "--from", cluster.endpoint(1))
            #expect(recovered.status == 0, "\(recovered)")
            try expectRefusal()
            let promoted = try Bench.lockstep("promote", "--data", folder, "--yes")
            #expect(promoted.status == 0, "\(promoted)")
            for store in ["counters", "search"] {
                let reader = try SQLiteJournalReader(folder: folder, storeName: store)
                defer { try? reader.close() }
                #expect(reader.note(.role) == "primary" && reader.note(.audience) == ProcessCluster.name(1))
            }
        }
    }

    /// An old copy that was put back is named by the alarm; `--accept-loss` takes that position and no other, once
    /// (PROTOCOL R-41).
    @Test func onlyWhatTheAlarmNamedIsGivenUp() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let folder = cluster.node(0)
            cluster.end(0, signal: SIGTERM)
            let healthy = try Bench.lockstep("recover", "--data", folder.path, "--accept-loss", "1763700000000:41230")
            #expect(healthy.status == 1 && healthy.errors.contains("no alarm"), "\(healthy)")
            let copy = cluster.folder + "/copy"
            try FileManager.default.copyItem(atPath: folder.path, toPath: copy)
            try cluster.start(0)
            try await cluster.waitUntilReady()
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(100, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
            cluster.end(0, signal: SIGKILL)
            try FileManager.default.removeItem(atPath: folder.path)
            try FileManager.default.moveItem(atPath: copy, toPath: folder.path)
            try cluster.start(0)
            var alarm = ""
            try await Bench.wait("the alarm") {
                let store = try? await folder.decodedStatus().stores.first { $0.name == "counters" }  // Asked again.
                alarm = store?.alarms.first { $0.kind == .primaryBehind }?.text ?? ""
                return !alarm.isEmpty
            }
            let named = try #require(alarm.firstMatch(of: /knows ([0-9]+):([0-9]+):/))
            cluster.end(0, signal: SIGTERM)
            let place = "\(named.1):\(named.2)"
            let wrong = try Bench.lockstep("recover", "--data", folder.path, "--accept-loss", place + "0")
            #expect(wrong.status == 1 && wrong.errors.contains(place), "\(wrong)")
            let taken = try Bench.lockstep("recover", "--data", folder.path, "--accept-loss", place)
            #expect(taken.status == 0 && taken.output.contains(place), "\(taken)")
            let twice = try Bench.lockstep("recover", "--data", folder.path, "--accept-loss", place)
            #expect(twice.status == 1 && twice.errors.contains("no alarm"), "\(twice)")
        }
    }
}

import Foundation
import LockstepCore
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Testing

extension IntegrationTests {
    /// The commands that read a stopped node's journal, on that of a data node (PROTOCOL ).
    @Suite(.serialized, .timeLimit(.minutes(5))) struct DataNodeJournalTests {
        private let folder = NSTemporaryDirectory() + "lockstep-\(UUID().uuidString)"
        private let cluster = ClusterID(rawValue: 0xC1)

        /// Batches of a log without anything of a user's.
        private func batches(_ count: Int, epoch: UInt64, after start: Position) -> [SealedBatch] {
            let store = StoreID(cluster: cluster, name: "counters")
            var position = start
            return (0..<count).map { _ in
                var builder = BatchBuilder(
                    store: store, epoch: Epoch(rawValue: epoch), after: position, time: LogTime(rawValue: 1_000))
                if Epoch(rawValue: epoch) > position.epoch {
                    builder.append(
                        .epochOpen(
                            node: "a", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: UInt128(epoch))))
                } else {
                    builder.append(.sessionExpire([SessionID(epoch: Epoch(rawValue: 1), sequence: .zero)]))
                }
                let batch = builder.sealed()
                position = batch.position
                return batch
            }
        }

        private func wait(_ ask: (@escaping @Sendable (Result<Void, JournalFailure>) -> Void) -> Void) async throws {
            try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
                ask { done.resume(with: $0.mapError { $0 }) }
            }
        }

        /// A journal with two committed batches, one in the tail, and two that were cut.
        private func write() async throws {
            var request = JournalRequest(
                cluster: cluster, storeName: "counters", nodeName: "a", channel: Channel(rawValue: 0))
            request.isForDataNode = true
            let journal = try SQLiteJournal(folder: folder, request: request, create: true)
            defer { journal.close() }
            try journal.recover(snapshot: { _ in }, batch: { _ in })
            let first = batches(2, epoch: 1, after: journal.head)
            let gone = batches(2, epoch: 1, after: first[1].position)
            let tail = batches(1, epoch: 3, after: first[1].position)
            try await wait { journal.append([first[0]], completion: $0) }
            try await wait(journal.markArbitrated)
            try await wait { journal.append([first[1]] + gone, committed: first[1].head.last, completion: $0) }
            try await wait { journal.promise(Epoch(rawValue: 3), completion: $0) }
            let memory = ArbiterMemory(revision: 40, number: 7, epoch: Epoch(rawValue: 3), boot: BootID(rawValue: 5))
            try await wait { journal.remember(memory, completion: $0) }
            let cut = await withCheckedContinuation { done in
                journal.truncate(after: first[1].position, reason: "epoch 3 began there") { done.resume(returning: $0) }
            }
            #expect(cut == .success(CutBatches(batches: 2, end: first[1].position)))
            try await wait { journal.append(tail, completion: $0) }
        }

        /// Goal: `inspect`, `verify` and `dump` show what is committed, the tail and what was cut, each as such; an operator
        /// sees promise and arbiter; commands that would open the journal for writing are refused with what to do.
        @Test func theCommandsShowTailAndQuarantine() async throws {
            defer { try? FileManager.default.removeItem(atPath: folder) }  // The next test has its own.
            try await write()
            let data = ["--data", folder, "--store", "counters"]
            let inspect = try ChildProcess.run(Bench.program, ["journal", "inspect"] + data)
            #expect(inspect.status == 0, "\(inspect)")
            for part in [
                "arbitrated   since 1:1:", "committed    through 2", "tail         1 batches that may not be committed",
                "promise      epoch 3", "arbiter      record 7 of epoch 3, revision 40",
                "kept aside   2 entries", "3 to 4 of epoch 1, 2 batches, at 20", ": cut: epoch 3 began there",
            ] {
                #expect(inspect.output.contains(part), "\(part): \(inspect.output)")
            }
            let json = try ChildProcess.run(Bench.program, ["journal", "inspect", "--json"] + data)
            let parts = ["promised\":3", "committed\":2", "reason\":\"cut: epoch 3 began there\"", "keptAside\":2"]
            for part in parts {
                #expect(json.output.contains(part), "\(part): \(json.output)")
            }
            let verify = try ChildProcess.run(Bench.program, ["journal", "verify"] + data)
            #expect(verify.status == 0 && verify.output.contains("; 1 batches that may not be"), "\(verify)")
            let dump = try ChildProcess.run(Bench.program, ["journal", "dump"] + data)
            let lines = dump.output.split(separator: "\n")
            #expect(lines.count == 3 && lines.filter { $0.contains("\"isUncommitted\":true") } == [lines[2]], "\(dump)")
            let kept = try ChildProcess.run(Bench.program, ["journal", "dump", "--kept-aside"] + data)
            #expect(kept.output.split(separator: "\n").count == 2, "\(kept)")
            #expect(kept.output.contains("\"keptAside\":\"cut: epoch 3 began there\""), "\(kept)")
        }
    }
}

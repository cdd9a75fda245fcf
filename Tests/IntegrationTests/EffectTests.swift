import Foundation
import Lockstep
import LockstepHarness
import LockstepNode
import Synchronization
import Testing

extension IntegrationTests {
    /// Effects of a primary that is killed again and again (SEMANTICS K9, PROTOCOL ).
    ///
    /// The primary has one store with a journal, and no replica: the shipped program hosts no store whose effects take
    /// time and can be counted, so a program of the tests does.
    @Suite(.serialized, .timeLimit(.minutes(10))) struct EffectTests {
        /// As often as the variable says; the project's figure is 200.
        private static let kills = ProcessInfo.processInfo.environment["LOCKSTEP_KILLS"].flatMap { Int($0) } ?? 40
        private static let inFlight = 1_000

        /// While 1,000 effects are in flight the primary dies by SIGKILL, again and again: every accepted action ends
        /// exactly once, its last mutation is committed exactly once, and its sender learns its end.
        @Test func everyAcceptedActionEndsExactlyOnceWhateverDies() async throws {
            let folder = try Bench.folder()
            let endpoint = "tcp://127.0.0.1:\(Bench.ports())"
            let progress = try Progress { try Self.start(folder, endpoint) }
            defer {
                progress.primary.withLock { $0.end(SIGKILL) }
                try? FileManager.default.removeItem(atPath: folder)  // What is left lies in the temporary folder.
            }
            let node = try Node(.client(of: endpoint), logger: Bench.quiet)
            let errands = try node.remote(Errands.self, named: "errands")
            try await node.whileRunning {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<Self.inFlight {
                        group.addTask { try await Self.drive(errands, progress) }
                    }
                    for _ in 0..<Self.kills {
                        // How long the primary lives is the load, and nothing waits for it.
                        try await Task.sleep(for: .milliseconds(Int.random(in: 150...600)))
                        try progress.primary.withLock { child in
                            child.end(SIGKILL)
                            child = try Self.start(folder, endpoint)
                        }
                    }
                    progress.isOver.store(true, ordering: .sequentiallyConsistent)
                    var ended = 0
                    var again = 0
                    for try await attempts in group {
                        ended += attempts & 0xFFFF
                        again += attempts >> 16
                    }
                    let count = progress.sent.load(ordering: .sequentiallyConsistent)
                    #expect(ended == count, "every sender has its end")
                    let totals = try await errands.ask(.totals, .linearizable).answer
                    #expect(totals.errands == count && totals.done == count && totals.doneTwice == 0, "\(totals)")
                    #expect(again > 0 || Self.kills < 5, "some came to their end in a later attempt only")
                    print(
                        "effects: \(count) accepted, \(Self.kills) kills, \(again) ended in a later attempt, \(totals)")
                }
            }
        }

        /// Sends one errand after the other; returns how many ended, and, 65,536 times, how many not in the first try.
        private static func drive(
            _ errands: RemoteStore<Errands>, _ progress: Progress
        ) async throws -> Int {
            var result = 0
            while !progress.isOver.load(ordering: .sequentiallyConsistent) {
                let errand = UInt64(progress.sent.add(1, ordering: .sequentiallyConsistent).newValue)
                let action = Errands.Action(errand: errand, milliseconds: Int.random(in: 100...2_000))
                let receipt = try await errands.send(action, timeout: nil)
                result += receipt.reply > 1 ? 0x1_0001 : 1
            }
            return result
        }

        /// What the drivers share.
        private final class Progress: Sendable {
            let isOver = Atomic<Bool>(false)
            let sent = Atomic<Int>(0)
            let primary: Mutex<ChildProcess>

            init(_ start: () throws -> ChildProcess) throws { primary = Mutex(try start()) }
        }

        private static func start(_ folder: String, _ endpoint: String) throws -> ChildProcess {
            try ChildProcess("errands", Bench.testPeer, ["errands", folder, endpoint], log: folder + "/errands.log")
        }
    }
}

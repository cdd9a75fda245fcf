import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing

extension IntegrationTests {
    /// Goal: a command whose outcome stays unknown names the command that asks, and that one answers by the log: what
    /// was committed, rejected, is not there, or cannot be known (PROTOCOL, QUERY; R-27).
    @Test func anOutcomeCanBeAskedFor() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let endpoint = cluster.endpoint(0)
            func outcome(_ session: SessionID, _ number: UInt64, at node: String? = nil) throws -> (Int32, String) {
                let (status, output, errors) = try Bench.lockstep(
                    "outcome", "\(session)", "\(number)", "--node", node ?? endpoint, "--timeout", "5")
                return (status, output + errors)
            }
            let ended = try await Bench.withClient(of: endpoint) { counters in
                let receipt = try await counters.send(.add("a", by: 7))
                let denied = try await counters.send(contentsOf: [.take("nobody", 1)])
                #expect(throws: LockstepError.self) { try denied.replies() }
                let session = receipt.session
                // Its owner acknowledges what it has within half a second; until then the answer is kept.
                let first = try outcome(session, receipt.number)
                let isKept = first.0 == 0 && first.1.contains("committed")
                #expect(isKept || first.1.contains("acknowledged"), "\(first)")
                let third = try outcome(session, 3)
                #expect(third.0 == 75 && third.1.contains("pending"), "\(third)")
                let json = try Bench.lockstep(
                    "outcome", "\(session)", "3", "--node", endpoint, "--timeout", "5", "--json")
                #expect(json.status == 75 && json.output.contains(#""outcome":"pending""#))
                // A replica names its primary.
                let followed = try outcome(session, 3, at: cluster.endpoint(1))
                #expect(followed.0 == 75 && followed.1.contains("pending"), "\(followed)")
                // Of several nodes the first that leads to an answer is enough (R-91).
                let several = "tcp://127.0.0.1:9,\(cluster.endpoint(1))"
                let found = try outcome(session, 3, at: several)
                #expect(found.0 == 75 && found.1.contains("pending"), "\(found)")
                let added = try Bench.lockstep("counter", "add", "b", "--node", several, "--timeout", "20")
                #expect(added.status == 0 && added.output.hasPrefix("1"), "\(added)")
                return session
            }
            let data = ["--data", cluster.node(0).path]
            try await Bench.waitForEnd(of: "the session \(ended)") {
                let listed = try ChildProcess.output(Bench.program, ["sessions", "list", "--json"] + data)
                return listed.contains("\"\(ended)\"")
            } close: {
                _ = try ChildProcess.run(Bench.program, ["sessions", "close", "\(ended)"] + data)
            }
            let over = try outcome(ended, 1)
            #expect(over.0 == 75 && over.1.contains("the session has ended"), "\(over)")
            let unknown = try outcome(SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2)), 1)
            #expect(unknown.0 == 75 && unknown.1.contains("unknown to this log"), "\(unknown)")
            #expect(try Bench.lockstep("outcome", "x", "1").status == 64)
            #expect(try Bench.lockstep("outcome", "1:2", "0").status == 64)
        }
    }

    /// Goal: the command that is printed with an unknown outcome can be run as it stands, and its status is the answer:
    /// here the network loses the answer, and is whole again when somebody asks.
    @Test func theCommandThatAsksCanBeRunAsItIsPrinted() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let port = Bench.ports()
            let silence = URL(fileURLWithPath: #filePath)
                .appendingPathComponent("../../../deploy/pages/silence.py").standardized.path
            func network(losing text: String) async throws -> ChildProcess {
                let process = try ChildProcess(
                    "network", "/usr/bin/env",
                    ["python3", silence, "\(port)", "127.0.0.1", "\(cluster.port)", text],
                    log: cluster.folder + "/network.log")
                let read = ["counter", "get", "a", "--node", "tcp://127.0.0.1:\(port)", "--timeout", "5"]
                try await Bench.wait("the network") {
                    try ChildProcess.run(Bench.program, read).errors.contains("there is no counter a")
                }
                return process
            }
            let lossy = try await network(losing: "unheard-of")
            defer { lossy.end(SIGKILL) }
            let added = try Bench.lockstep(
                "counter", "add", "unheard-of", "--node", "tcp://127.0.0.1:\(port)", "--timeout", "6")
            #expect(added.status == 75, "\(added)")
            let command = try #require(added.errors.firstMatch(of: /; ask: (lockstep outcome .*)\n/), "\(added)").1
            lossy.end(SIGKILL)
            let whole = try await network(losing: "what nobody says")
            defer { whole.end(SIGKILL) }
            let folder = URL(fileURLWithPath: Bench.program).deletingLastPathComponent().path
            let asked = try ChildProcess.run("/bin/sh", ["-c", "PATH='\(folder)':$PATH; \(command)"])
            #expect(asked.status == 0 && asked.output.contains("committed"), "\(command): \(asked)")
        }
    }

    /// Goal: a node that refuses the question tells nothing of the action, so the status is that of a node out of reach,
    /// and never the one that lets a script repeat the action (PROTOCOL R-4, R-10).
    @Test func aRefusedQuestionIsNoAnswer() async throws {
        try await Bench.withCluster(replicas: 1, start: false) { cluster in
            func outcome(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
                try ChildProcess.run(
                    Bench.program, ["outcome", "1700000000000:42", "1", "--timeout", "5"] + arguments)
            }
            try cluster.start(1)
            try await Bench.wait("the replica") { (try? await cluster.node(1).decodedStatus()) != nil }  // Asked again.
            let never = try outcome("--node", cluster.endpoint(1))
            #expect(never.status == 69 && never.errors.contains("refuses: it has not been live"), "\(never)")
            try cluster.start(0)
            try await cluster.waitUntilReady()
            let other = try outcome("--node", cluster.endpoint(0), "--store", "nowhere")
            #expect(other.status == 69 && other.errors.contains("no store named nowhere"), "\(other)")
            #expect(other.errors.contains("stays open"))
            let known = try outcome("--node", cluster.endpoint(0))
            #expect(known.status == 75, "\(known)")
            #expect(try outcome("--node", "nonsense").status == 64)
        }
    }

    /// Goal: who leaves without an answer leaves its session open, so that somebody can ask: here the primary stands
    /// still between an action's submission and its answer (PROTOCOL R-27, R-28).
    @Test func whoLeavesWithoutAnAnswerLeavesItsSession() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let primary = try #require(cluster.child(0)).identifier
            let node = try Node(.client(of: cluster.endpoint(0)), logger: Bench.quiet)
            let counters = try node.remote(Counters.self, named: "counters")
            let pending = try await node.whileRunning { () async throws -> PendingOutcome? in
                _ = try await counters.send(.add("x", by: 1))
                ChildProcess.send(SIGSTOP, to: primary)
                defer { ChildProcess.send(SIGCONT, to: primary) }
                do {
                    _ = try await counters.send(.add("x", by: 1), timeout: .seconds(2))
                    return nil
                } catch let error as LockstepError {
                    #expect(error.code == .outcomeUnknown)
                    return error.pending
                }
            }
            let asked = try #require(pending)
            // The question may overtake the action, which waits in another connection: it is asked until that was read.
            var told = (status: Int32(75), output: "", errors: "")
            try await Bench.wait("an action that is not pending any more") {
                told = try Bench.lockstep(
                    "outcome", "\(asked.session)", "\(asked.numbers.lowerBound)", "--node", cluster.endpoint(0))
                return !told.output.hasPrefix("pending")
            }
            #expect([0, 1].contains(told.status), "\(told)")
            #expect(told.output.contains("committed") || told.output.contains("void"), "\(told)")
        }
    }
}

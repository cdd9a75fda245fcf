import Foundation
import Lockstep
import LockstepCore
import LockstepNode
import Testing

/// What an operator sees of accepted actions.
@Suite(.timeLimit(.minutes(5))) struct RunListTests {
    /// Actions whose effects go on.
    struct Patient: Reactor {
        enum Action: Codable, Sendable {
            case wait
        }
        enum Mutation: Codable, Sendable {
            case waited
        }
        struct State: Codable, Sendable {
            var waited = 0
        }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Patient> {
            switch action {
            case .wait: .run { _ in try await Task.sleep(for: .seconds(3_600)) }
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .waited: state.waited += 1
            }
        }
    }

    /// The IDs of so many sessions' actions take more than a message.
    private static let sessionCount = 14

    /// A client with a session of its own, as many actions of which were accepted as a session may have.
    private static func fill(_ endpoint: String, _ stage: Stage) async throws {
        let client = try Node(.client(of: endpoint))
        let store = try client.remote(Patient.self, named: "patient")
        try await withRunning(client) {
            let actions = Array(repeating: Patient.Action.wait, count: Limits.runsOfSession)
            _ = try await store.send(contentsOf: actions, timeout: nil)
            stage.note("filled")
            try await stage.pass("end")
        }
    }

    /// A primary of one store, and the folder of the socket over which it is asked; a short path, as sockets need it.
    private static func askedPrimary() throws -> (Node, String) {
        let folder = "/tmp/lockstep-test-\(UInt32.random(in: 0 ... .max))"
        var configuration = NodeConfiguration.primary(listen: "tcp://127.0.0.1:0", journal: .memory)
        configuration.administrationFolder = folder
        let primary = try Node(configuration)
        _ = try primary.store(Patient(), named: "patient")
        return (primary, folder)
    }

    /// Goal: of more actions than a message holds none is missing, each answer has a page of them, and the order is that
    /// of acceptance (PROTOCOL, L7).
    @Test func moreActionsThanAnAnswerHoldsAreAllListed() async throws {
        let (primary, folder) = try Self.askedPrimary()
        // What was not made need not be removed.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let stage = Stage()
        try await withRunning(primary) {
            let endpoint = await primary.listening()
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { stage.open("end") }
                for _ in 0..<Self.sessionCount { group.addTask { try await Self.fill(endpoint, stage) } }
                await stage.noted("filled", count: Self.sessionCount)
                var pages = 0
                var bytes = 0
                let runs = try await RunList.all { after in
                    let next = after.map { #","after":"\#($0)""# } ?? ""
                    let answer = try await AdministrationClient.ask(
                        folder: folder, command: #"{"command":"runs","store":"patient"\#(next)}"#,
                        timeout: .seconds(60))
                    let page = try JSONDecoder().decode(RunList.self, from: answer)
                    #expect(page.runs.count <= RunList.pageLimit)
                    pages += 1
                    bytes += answer.count
                    return answer
                }
                let count = Self.sessionCount * Limits.runsOfSession
                #expect(bytes > Limits.messageBytes, "one answer would hold them")
                #expect(runs.count == count && pages == count / RunList.pageLimit + 1)
                #expect(Set(runs.map(\.id)).count == count)
                #expect(zip(runs, runs.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
            }
        }
    }

    /// Goal: a client that was told that an action goes on leaves its session open, so that somebody can ask what
    /// became of it (PROTOCOL, R-27, R-64).
    @Test func whoLeavesAnUnfinishedActionLeavesItsSession() async throws {
        let (primary, folder) = try Self.askedPrimary()
        // What was not made need not be removed.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withRunning(primary) {
            let client = try Node(.client(of: await primary.listening()))
            let store = try client.remote(Patient.self, named: "patient")
            let session = Box<SessionID>()
            try await withRunning(client) {
                let outcome = try await store.submit(.wait).accepted()
                guard case .accepted(let run, _) = outcome else { return unexpected() }
                session.value = run.session
                let error = await #expect(throws: LockstepError.self) { try await store.end(of: run, timeout: .zero) }
                #expect(error?.code == .unfinished && error?.run == run)
            }
            let answer = try await AdministrationClient.ask(
                folder: folder, command: #"{"command":"sessions","store":"patient"}"#, timeout: .seconds(60))
            let list = try JSONDecoder().decode(SessionList.self, from: answer)
            let left = try #require(session.value)
            #expect(list.sessions.map(\.id).contains("\(left)"))
        }
    }
}

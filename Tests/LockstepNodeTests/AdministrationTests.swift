import Foundation
import LockstepCore
import LockstepNode
import Synchronization
import Testing
import ZeroMQ

/// Asking a running node from outside, over its socket.
@Suite(.timeLimit(.minutes(5)))
struct AdministrationTests {
    @discardableResult
    private func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        let folder = "/tmp/lockstep-test-\(UInt32.random(in: 0 ... .max))"
        // What was not made need not be removed.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await body(folder)
    }

    private func node(_ folder: String) throws -> (Node, StorePort) {
        var configuration = NodeConfiguration.local()
        configuration.administrationFolder = folder
        let node = try Node(configuration)
        return (node, try node.attach(name: "sum") { SumState() })
    }

    @Test
    func statusAndDumpAreAnswered() async throws {
        try await withFolder { folder in
            let (node, port) = try node(folder)
            try await withRunning(node) {
                _ = try await port.add([1, 2])
                let json = try await AdministrationClient.ask(folder: folder, command: #"{"command":"status"}"#)
                let status = try JSONDecoder().decode(NodeStatus.self, from: json)
                #expect(status.node == node.id.name)
                #expect(status.role == .primary)
                #expect(status.stores.map(\.name) == ["sum"])
                #expect(status.stores[0].phase == .admitting)
                #expect(status.stores[0].sessionCount == 1)
                var dump = ""
                repeat {
                    // A mark may be on its way to the journal.
                    let answer = try await AdministrationClient.ask(
                        folder: folder, command: #"{"command":"dump","store":"sum"}"#)
                    dump = String(decoding: answer, as: UTF8.self)
                } while dump.contains("ask again")
                #expect(dump.contains(#""store":"sum""#))
            }
        }
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"command":"halt"}"#, #"{"command":"dump"}"#, #"{"command":"dump","store":"x"}"#,
    ])
    func whatIsNotKnownIsRefusedInWords(_ command: String) async throws {
        try await withFolder { folder in
            let (node, port) = try node(folder)
            try await withRunning(node) {
                _ = try await port.add([1])
                let answer = try await AdministrationClient.ask(folder: folder, command: command)
                #expect(String(decoding: answer, as: UTF8.self).hasPrefix(#"{"error":"#))
            }
        }
    }

    /// Goal: an operator sees the sessions of a running primary, and what is closed by ID or name is gone: its client
    /// opens another and goes on (PROTOCOL R-19, R-27).
    @Test
    func sessionsAreListedAndClosed() async throws {
        try await withFolder { folder in
            let (node, port) = try node(folder)
            try await withRunning(node) {
                _ = try await port.add([1, 2])
                func sessions() async throws -> SessionList {
                    let json = try await AdministrationClient.ask(
                        folder: folder, command: #"{"command":"sessions","store":"sum"}"#)
                    return try JSONDecoder().decode(SessionList.self, from: json)
                }
                let before = try await sessions()
                let session = try #require(before.sessions.first)
                #expect(before.count == 1 && session.last == 2 && session.peer == node.id.name)
                func close(_ choice: String) async throws -> String {
                    let command = #"{"command":"closeSessions","store":"sum","choice":{\#(choice)}}"#
                    let answer = try await AdministrationClient.ask(folder: folder, command: command)
                    return String(decoding: answer, as: UTF8.self)
                }
                #expect(try await close("").contains("say which sessions"))
                #expect(try await close(#""session":"x""#).contains("names no session"))
                #expect(try await close(#""idleSeconds":-1"#).contains("the idle time is"))
                #expect(try await close(#""idleSeconds":1000,"unused":true"#) == #"{"closed":0}"#)
                #expect(try await close(#""session":"\#(session.id)""#) == #"{"closed":1}"#)
                do {
                    _ = try await port.add([3])
                } catch let error as LockstepError where error.code == .outcomeUnknown {
                    // It was sent before the client had learned of the end.
                    _ = try await port.add([3])
                }
                let after = try await sessions().sessions
                #expect(after.count == 1 && after.first?.id != session.id)
            }
        }
    }

    /// One node a folder: libzmq would let the second take the path over.
    @Test
    func aFolderServesOneNode() async throws {
        try await withFolder { folder in
            let (first, port) = try node(folder)
            try await withRunning(first) {
                _ = try await port.add([1])
                let (second, _) = try node(folder)
                await #expect { try await second.run() } throws: { ($0 as? LockstepError)?.code == .addressInUse }
                _ = try await AdministrationClient.ask(folder: folder, command: #"{"command":"status"}"#)
            }
        }
    }

    @Test
    func aFolderThatOthersEnterIsRefused() async throws {
        try await withFolder { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            let (node, _) = try node(folder)
            await #expect { try await node.run() } throws: {
                let error = $0 as? LockstepError
                return error?.code == .administration && error?.message.contains("chmod 700") ?? false
            }
        }
    }

    /// A status shows a digest where the log has it, and walks over no state unless it is asked to.
    @Test
    func aStatusTakesNoDigest() async throws {
        try await withFolder { folder in
            var configuration = NodeConfiguration.local()
            configuration.administrationFolder = folder
            let node = try Node(configuration)
            let taken = SumState.DigestCount()
            let port = try node.attach(name: "sum") { SumState(digestsTaken: taken) }
            try await withRunning(node) {
                _ = try await port.add([1, 2])
                func store(_ command: String) async throws -> StoreStatus {
                    let json = try await AdministrationClient.ask(folder: folder, command: command)
                    return try #require(try JSONDecoder().decode(NodeStatus.self, from: json).stores.first)
                }
                // At rest the last write gets its mark, which stands at the store's end; what comes by itself after a
                // write is that the answers are acknowledged.
                var rested = try await store(#"{"command":"status"}"#)
                try await until {
                    rested = try await store(#"{"command":"status"}"#)
                    return rested.digest != nil && rested.sessions.contains { $0.last == 2 && $0.acked == 2 }
                }
                let before = taken.value.load(ordering: .relaxed)
                for _ in 0..<20 { #expect(try await store(#"{"command":"status"}"#).digest == rested.digest) }
                #expect(taken.value.load(ordering: .relaxed) == before)
                #expect(try await store(#"{"command":"status","digests":true}"#).digest == rested.digest)
                // What is asked for is taken where the log has none.
                _ = try await port.add([3])
                var asked = try await store(#"{"command":"status","digests":true}"#)
                try await until {
                    asked = try await store(#"{"command":"status","digests":true}"#)
                    return asked.digest != nil
                }
                #expect(asked.digest != rested.digest)
            }
        }
    }

    /// Nobody, a node that stands still, an end of the socket that takes no connection, and a socket of which the system
    /// does not tell whether somebody listens are told apart.
    @Test
    func aNodeThatDoesNotRunIsReported() async throws {
        try await withFolder { folder in
            func failure() async -> AdministrationFailure? {
                do {
                    _ = try await AdministrationClient.ask(folder: folder, command: "{}", timeout: .milliseconds(100))
                    return nil
                } catch {
                    #expect((error as? LockstepError)?.code == .unavailable)
                    return (error as? LockstepError)?.underlying as? AdministrationFailure
                }
            }
            #expect(await failure() == .notRunning)
            let path = try AdministrationPath(folder: folder)
            try path.prepare()
            let context = try Context()
            do {
                // Bound, and never read: what a process is that hangs.
                let deaf = try Endpoints.administration(context, at: path.socket)
                guard case .silent(let reason) = await failure() else {
                    Issue.record("a silent node is not reported as one")
                    return
                }
                #expect(reason.contains("process \(getpid())"))
                _ = consume deaf
            }
            // The threads of libzmq close it.
            try await until { await failure() == .notRunning }
            try FileManager.default.removeItem(atPath: folder)
            try Data().write(to: URL(fileURLWithPath: folder))
            #expect(await failure() == .silent(reason: "\(path.socket) cannot be reached: Not a directory"))
        }
    }
}

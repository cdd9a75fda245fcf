import Foundation
import Lockstep
import NodeTesting

/// A primary and replicas of the program `shop`, and its commands.
final class ShopProcesses {
    let folder: String
    private let addresses: [String]
    private var nodes: [ChildProcess?]
    private var runs = 0

    /// Makes the folders of so many nodes, of one cluster; the first is the primary's.
    init(folder: String, nodes count: Int) throws {
        self.folder = folder
        addresses = try (0..<count).map { _ in try freeAddress() }
        nodes = addresses.map { _ in nil }
        let made = try run("init", "--data", data(0), "--json")
        guard let cluster = try object(made.output)["cluster"] as? String else {
            throw LockstepError(.failed, "init says \(made)")
        }
        for node in addresses.indices.dropFirst() { _ = try run("init", "--data", data(node), "--cluster", cluster) }
    }

    func data(_ node: Int) -> String { folder + "/node-\(node)" }

    func address(_ node: Int) -> String { addresses[node] }

    func start(_ node: Int) throws {
        let source = node == 0 ? [] : ["--replica-of", addresses[0]]
        let words = ["serve", "--data", data(node), "--listen", addresses[node], "--log-level", "warning"]
        nodes[node] = try ChildProcess("shop", arguments: words + source)
    }

    /// Waits until all nodes serve.
    func waitUntilReady() throws {
        let all = addresses.indices.flatMap { ["--data", data($0)] }
        let (status, _, errors) = try run(arguments: ["status", "--wait", "60"] + all)
        guard status == 0 else { throw LockstepError(.timeout, errors) }
    }

    func kill(_ node: Int) {
        nodes[node]?.kill()
        nodes[node] = nil
    }

    /// Asks a node to end, as an operator does; its exit status.
    func terminate(_ node: Int) -> Int32? {
        defer { nodes[node] = nil }
        return nodes[node]?.terminate()
    }

    // MARK: - Commands

    /// Runs a command to its end.
    func run(_ words: String...) throws -> (status: Int32, output: String, errors: String) {
        try run(arguments: words)
    }

    /// Runs a command to its end.
    func run(arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        runs += 1
        let files = (output: folder + "/\(runs).out", errors: folder + "/\(runs).err")
        let process = try ChildProcess("shop", arguments: arguments, output: files.output, errors: files.errors)
        let status = process.exitStatus()
        return (
            status, try String(contentsOfFile: files.output, encoding: .utf8),
            try String(contentsOfFile: files.errors, encoding: .utf8)
        )
    }

    /// Starts a command that goes on; its lines so far are in the file.
    func begin(_ words: String..., output: String) throws -> ChildProcess {
        try ChildProcess("shop", arguments: words, output: output)
    }

    /// Waits until a file of lines satisfies a condition.
    func lines(of path: String, until isReached: ([String]) -> Bool) async throws -> [String] {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            // Only whole lines: the last one may be half written.
            let text = try String(contentsOfFile: path, encoding: .utf8)
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
            if isReached(lines) { return lines }
            guard ContinuousClock.now < deadline else { throw LockstepError(.timeout, "there is only \(lines)") }
            try await Task.sleep(for: .milliseconds(20))  // A poll of another process's file.
        }
    }
}

/// The members of a JSON object.
func object(_ text: some StringProtocol) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
}

package import Foundation
package import LockstepNode

/// Questions to the node that runs in a folder.
extension NodeFolder {
    /// The answer of the node that runs in this folder.
    ///
    /// - Parameters:
    ///   - timeout: How long to wait.
    ///   - digests: Take the digest of every state, whatever it costs the node.
    /// - Returns: The bytes of its JSON, or why there are none.
    package func status(timeout: Duration = .seconds(2), digests: Bool = false) async -> Result<Data, any Error> {
        do {
            let request = digests ? #"{"command":"status","digests":true}"# : #"{"command":"status"}"#
            return .success(try await ask(request, timeout: timeout))
        } catch {
            return .failure(error)
        }
    }

    /// Sends a command to the node that runs in this folder.
    ///
    /// - Throws: ``LockstepError``: `invalidConfiguration` if this is no folder, `administration` if this user may not ask,
    ///   `unavailable` if no node runs or it does not answer.
    package func ask(_ command: String, timeout: Duration = .seconds(5)) async throws -> Data {
        // What this user may not enter is said with the owner of what bars the way, which the question finds.
        if let problem, problem.code != .administration { throw problem }
        return try await AdministrationClient.ask(
            folder: administration, command: command, timeout: timeout, name: path)
    }

    package func decodedStatus(
        timeout: Duration = .seconds(2), digests: Bool = false
    ) async throws -> NodeStatus {
        try JSONDecoder().decode(NodeStatus.self, from: try await status(timeout: timeout, digests: digests).get())
    }

    /// Whether every store admits, or follows the stream at its head; alarms do not count here.
    package func isReady() async -> Bool {
        // A node that cannot be asked is one that is not ready.
        guard let status = try? await decodedStatus() else { return false }
        return !status.stores.isEmpty && status.stores.allSatisfy(\.isServing)
    }
}

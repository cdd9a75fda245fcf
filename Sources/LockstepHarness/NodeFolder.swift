package import Foundation
package import LockstepNode

/// A node's data folder as `lockstep init` makes it: `node.json` beside the journals.
package struct NodeFolder {
    /// What `node.json` holds.
    package struct Identity: Codable, Sendable {
        package var node: String
        package var cluster: String
        package var stores: [String]
        package init(node: String, cluster: String, stores: [String]) {
            self.node = node
            self.cluster = cluster
            self.stores = stores
        }
    }

    package let path: String
    package var identityPath: String { path + "/node.json" }
    package var administration: String { path + "/admin" }

    package init(_ path: String) {
        self.path = path.hasSuffix("/") && path.count > 1 ? String(path.dropLast()) : path
    }

    package func identity() throws -> Identity {
        guard let data = FileManager.default.contents(atPath: identityPath) else {
            throw LockstepError(
                .invalidConfiguration, "\(path) is not a node's folder: run \"lockstep init --data \(path)\" first")
        }
        do {
            return try JSONDecoder().decode(Identity.self, from: data)
        } catch {
            throw LockstepError(
                .invalidConfiguration, "\(identityPath) cannot be read: \(error); put back the file of this node")
        }
    }

    package func write(_ identity: Identity) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        do {
            try encoder.encode(identity).write(to: URL(fileURLWithPath: identityPath), options: .atomic)
        } catch {
            throw LockstepError(.journalUnwritable, "\(identityPath) cannot be written: \(error.localizedDescription)")
        }
    }
}

extension NodeFolder {
    /// The answer of the node that runs in this folder.
    package func status(timeout: Duration = .seconds(2)) async -> Result<Data, any Error> {
        do {
            let request = #"{"command":"status"}"#
            return .success(
                try await AdministrationClient.ask(folder: administration, command: request, timeout: timeout))
        } catch {
            return .failure(error)
        }
    }

    package func decodedStatus(timeout: Duration = .seconds(2)) async throws -> NodeStatus {
        try JSONDecoder().decode(NodeStatus.self, from: try await status(timeout: timeout).get())
    }

    /// Whether every store admits, or follows the stream at its head.
    package func isReady() async -> Bool {
        // A node that cannot be asked is one that is not ready.
        guard let status = try? await decodedStatus() else { return false }
        return !status.stores.isEmpty && status.stores.allSatisfy { $0.phase == "admitting" || $0.phase == "live" }
    }
}

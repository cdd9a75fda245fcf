package import LockstepFolders
import LockstepNode

extension NodeFolder {
    /// Waits until the nodes of these folders stand at one sequence number with one digest in each of their stores, and
    /// returns those of one store.
    package static func waitUntilEqual(
        _ folders: [NodeFolder], _ store: String, seconds: Double
    ) async throws -> (sequence: UInt64, digest: String) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            var nodes: [[Mark]] = []
            for folder in folders {
                let stores = try? await folder.decodedStatus(digests: true).stores  // Asked again.
                guard let stores else { continue }
                nodes.append(
                    stores.map { Mark(store: $0.name, sequence: $0.sequence, digest: $0.digest) }
                        .sorted { $0.store < $1.store })
            }
            // A primary has no digest while entries are on their way to its journal.
            if nodes.count == folders.count, let first = nodes.first, nodes.allSatisfy({ $0 == first }),
                first.allSatisfy({ $0.digest != nil }), let mark = first.first(where: { $0.store == store }),
                let digest = mark.digest
            {
                return (mark.sequence, digest)
            }
            guard ContinuousClock.now < deadline else {
                throw LockstepError(.unavailable, "the nodes are not equal after \(seconds) s: \(nodes)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Where a store of a node stands.
    private struct Mark: Equatable {
        var store: String
        var sequence: UInt64
        var digest: String?
    }
}

import Foundation
import LockstepNode

/// An etcd of one member on loopback, as a process: the arbiter of a demonstration's data nodes.
///
/// It takes two ports and a folder of its own, and syncs what it writes.
package final class LocalEtcd {
    package let endpoint: String
    private let peers: String
    private let folder: String
    private var child: ChildProcess?

    package init(folder: String, port: Int) {
        self.folder = folder
        endpoint = "http://127.0.0.1:\(port)"
        peers = "http://127.0.0.1:\(port + 1)"
    }

    /// Starts it; it answers a moment later.
    ///
    /// - Throws: ``LockstepError`` of code `unavailable` if etcd is not installed.
    package func start() throws {
        let places = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        guard let path = places.map({ "\($0)/etcd" }).first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw LockstepError(
                .unavailable, "etcd is not on PATH: install it (Debian: etcd-server), or run \"deploy/setup --cluster\""
            )
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        child = try ChildProcess(
            "etcd", path,
            [
                "--name", "only", "--data-dir", folder + "/data", "--listen-client-urls", endpoint,
                "--advertise-client-urls", endpoint, "--listen-peer-urls", peers, "--initial-advertise-peer-urls",
                peers,
                "--initial-cluster", "only=\(peers)",
            ], log: folder + "/etcd.log")
    }

    package func end(signal: Int32) {
        child?.end(signal)
        child = nil
    }
}

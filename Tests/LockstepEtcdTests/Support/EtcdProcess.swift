#if Etcd
    import Foundation
    import LockstepCore
    import LockstepEtcd
    import LockstepHarness
    import Synchronization

    /// A member of an etcd that a test runs, pauses and kills.
    ///
    /// A shell stands in between, which kills the member when the test's process ends in whatever way.
    final class EtcdMember: Sendable {
        let name: String
        let port: Int
        let peerPort: Int
        let folder: URL
        private let running = Mutex<Running?>(nil)

        private struct Running {
            var shell: Process
            var life: Pipe
        }

        private static let script = """
            dir=$1; shift
            "$@" >>"$dir/log" 2>&1 </dev/null &
            echo $! >"$dir/pid.new" && mv "$dir/pid.new" "$dir/pid"
            cat >/dev/null
            kill -9 "$(cat "$dir/pid")" 2>/dev/null
            wait
            """

        init(name: String, port: Int, peerPort: Int, in folder: URL) throws {
            (self.name, self.port, self.peerPort) = (name, port, peerPort)
            self.folder = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        }

        var data: URL { folder.appendingPathComponent("data") }
        var log: String { (try? String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8)) ?? "" }

        func start(_ arguments: [String]) throws {
            let (shell, life) = (Process(), Pipe())
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            // An election takes longer on a busy machine.
            let timing = ["--heartbeat-interval", "200", "--election-timeout", "2000"]
            shell.arguments =
                ["-c", Self.script, "sh", folder.path, "etcd", "--name", name, "--data-dir", data.path] + timing
                + arguments
            shell.standardInput = life
            try shell.run()
            running.withLock { $0 = Running(shell: shell, life: life) }
        }

        /// The member's process; nil until the shell has begun it.
        private var pid: pid_t? {
            guard let text = try? String(contentsOf: folder.appendingPathComponent("pid"), encoding: .utf8) else {
                return nil
            }
            return pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines))
        }

        /// Sends a signal; after SIGSTOP none of its threads runs any more.
        func send(_ signal: Int32) {
            if let pid { ChildProcess.send(signal, to: pid) }
        }

        /// Kills it, and waits until it is gone.
        func end() {
            guard let running = running.withLock({ $0.take() }) else { return }
            // The file of the process is there once the shell has written it.
            for _ in 0..<200 where pid == nil && running.shell.isRunning { usleep(10_000) }
            send(SIGKILL)
            // The shell reads the end of its input, and ends.
            try? running.life.fileHandleForWriting.close()
            running.shell.waitUntilExit()
            try? FileManager.default.removeItem(at: folder.appendingPathComponent("pid"))
        }
    }

    /// An etcd of some members, on loopback addresses and in a folder of its own.
    final class EtcdCluster: Sendable {
        let members: [EtcdMember]
        let folder: URL
        let certificates: Certificates?

        private init(members: Int, tls: Bool) async throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("lockstep-etcd-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            certificates = try await tls ? Certificates(in: folder) : nil
            let ports = try LoopbackPorts.free(2 * members)
            var made: [EtcdMember] = []
            for number in 0..<members {
                made.append(
                    try EtcdMember(
                        name: "m\(number)", port: ports[2 * number], peerPort: ports[2 * number + 1], in: folder))
            }
            self.members = made
        }

        /// Runs a body while the etcd runs, and leaves nothing: no process and no file.
        @concurrent static func with<Result: Sendable>(
            members: Int = 1, tls: Bool = false, _ body: @concurrent (EtcdCluster) async throws -> Result
        ) async throws -> Result {
            let cluster = try await answering(members, tls, tries: 3)
            defer { cluster.remove() }
            return try await body(cluster)
        }

        /// An etcd that answers; with other ports if somebody else takes one of them before it does.
        @concurrent private static func answering(_ members: Int, _ tls: Bool, tries: Int) async throws -> EtcdCluster {
            let cluster = try await EtcdCluster(members: members, tls: tls)
            do {
                for index in cluster.members.indices { try cluster.start(index) }
                try await cluster.ready()
                // Most of the members are enough for an answer.
                if cluster.lacksPort { throw EtcdTrouble(text: "a member's port is somebody else's") }
                return cluster
            } catch {
                let isAnotherTry = cluster.lacksPort && tries > 1
                cluster.remove()
                guard isAnotherTry else { throw error }
            }
            return try await answering(members, tls, tries: tries - 1)
        }

        /// Ends its members, and removes its files.
        private func remove() {
            for member in members { member.end() }
            // What is left in the temporary folder harms nobody.
            try? FileManager.default.removeItem(at: folder)
        }

        /// Whether somebody else has taken a member's port.
        private var lacksPort: Bool { members.contains { $0.log.contains("address already in use") } }

        var scheme: String { certificates == nil ? "http" : "https" }
        func endpoint(_ index: Int) -> String { "\(scheme)://127.0.0.1:\(members[index].port)" }

        func start(_ index: Int) throws {
            let member = members[index]
            let all = members.map { "\($0.name)=http://127.0.0.1:\($0.peerPort)" }.joined(separator: ",")
            var arguments = [
                "--listen-client-urls", endpoint(index), "--advertise-client-urls", endpoint(index),
                "--listen-peer-urls", "http://127.0.0.1:\(member.peerPort)",
                "--initial-advertise-peer-urls", "http://127.0.0.1:\(member.peerPort)", "--initial-cluster", all,
            ]
            if let certificates {
                arguments += [
                    "--client-cert-auth", "--trusted-ca-file", certificates.authority, "--cert-file",
                    certificates.server, "--key-file", certificates.serverKey,
                ]
            }
            try member.start(arguments)
        }

        /// Waits until it answers a linearizable read.
        @concurrent func ready() async throws {
            let arbiter = try EtcdArbiter(configuration(), cluster: ClusterID(rawValue: 1))
            let end = ContinuousClock.now + .seconds(60)
            while true {
                do {
                    _ = try await arbiter.channels(within: .seconds(2))
                    break
                } catch {
                    guard ContinuousClock.now < end, !lacksPort else {
                        await arbiter.close()
                        throw EtcdTrouble(text: "etcd does not answer: \(error)\n\(members.map(\.log))")
                    }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            await arbiter.close()
        }

        func configuration() -> EtcdConfiguration {
            EtcdConfiguration(
                endpoints: members.indices.map(endpoint), authority: certificates?.authority,
                certificate: certificates?.client, key: certificates?.clientKey)
        }

        /// Runs a body with an arbiter over all members, or over other endpoints.
        @concurrent func withArbiter<Result: Sendable>(
            _ example: ArbiterExample, endpoints: [String]? = nil,
            _ body: @concurrent (EtcdArbiter) async throws -> Result
        ) async throws -> Result {
            var configuration = configuration()
            if let endpoints { configuration.endpoints = endpoints }
            return try await EtcdArbiter.with(configuration, example.cluster) { try await body($0) }
        }
    }

    extension EtcdArbiter {
        /// Runs a body with an arbiter, and closes it.
        @concurrent static func with<Result: Sendable>(
            _ configuration: EtcdConfiguration, _ cluster: ClusterID,
            _ body: @concurrent (EtcdArbiter) async throws -> Result
        ) async throws -> Result {
            let arbiter = try EtcdArbiter(configuration, cluster: cluster)
            do {
                let result = try await body(arbiter)
                await arbiter.close()
                return result
            } catch {
                await arbiter.close()
                throw error
            }
        }
    }

    struct EtcdTrouble: Error { var text: String }

    enum LoopbackPorts {
        /// Ports that nobody listens on now.
        static func free(_ count: Int) throws -> [Int] {
            var sockets: [Int32] = []
            defer { for socket in sockets { close(socket) } }
            return try (0..<count).map { _ in
                #if canImport(Darwin)
                    let descriptor = socket(AF_INET, SOCK_STREAM, 0)
                #else
                    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                #endif
                sockets.append(descriptor)
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                    }
                }
                guard isBound else { throw EtcdTrouble(text: "no port is free") }
                return Int(UInt16(bigEndian: address.sin_port))
            }
        }
    }
#endif

#if Etcd
    import Foundation
    import LockstepCore
    import LockstepEtcd
    import LockstepNode
    import Testing

    /// A configuration that cannot work is refused before anything is asked, and the error says what to change.
    @Suite(.timeLimit(.minutes(1))) struct EtcdConfigurationTests {
        private static func problem(_ configuration: EtcdConfiguration) async -> String? {
            do {
                let arbiter = try EtcdArbiter(configuration, cluster: ClusterID(rawValue: 1))
                await arbiter.close()
                return nil
            } catch {
                #expect(error.code == .invalidConfiguration)
                return error.message
            }
        }

        private static func problem(_ endpoints: String...) async -> String? {
            await problem(EtcdConfiguration(endpoints: endpoints))
        }

        @Test(arguments: [
            "", "127.0.0.1:2379", "http://127.0.0.1", "tcp://127.0.0.1:2379", "http://127.0.0.1:0", "http://:2379",
            "http://127.0.0.1:70000", "http://user@127.0.0.1:2379", "http://127.0.0.1:2379/v3",
            "http://127.0.0.1:2379?a",
            "http://127.0.0.1:2379#a", "http://a b:2379",
        ]) func whatIsNoEndpointIsNamed(endpoint: String) async {
            #expect(await Self.problem(endpoint)?.contains("write https://HOST:PORT") == true)
        }

        /// Goal: a data node's configuration is refused where the node is made, with the same words.
        @Test func aNodeRefusesAWrongConfigurationBeforeItRuns() throws {
            func make(_ endpoint: String, listen: String = "tcp://127.0.0.1:7400") throws {
                _ = try Node(
                    .dataNode(
                        try #require(NodeID("node-1")), listen: listen, journal: .memory,
                        etcd: EtcdConfiguration(endpoints: [endpoint])))
            }
            try make("http://127.0.0.1:2379")
            let etcd = #expect(throws: LockstepError.self) { try make("http://127.0.0.1") }
            #expect(etcd?.code == .invalidConfiguration && etcd?.message.contains("no endpoint of etcd") == true)
            let listen = #expect(throws: LockstepError.self) {
                try make("http://127.0.0.1:2379", listen: "tcp://0.0.0.0:7400")
            }
            #expect(listen?.code == .invalidConfiguration)
        }

        @Test func endpointsBelongTogether() async {
            #expect(await Self.problem("http://127.0.0.1:2379", "http://localhost:2380/", "http://[::1]:2381") == nil)
            #expect(await Self.problem()?.contains("no endpoint") == true)
            #expect(await Self.problem("http://127.0.0.1:1", "https://127.0.0.1:2")?.contains("differ") == true)
            #expect(await Self.problem("http://127.0.0.1:1", "http://127.0.0.1:1/")?.contains("twice") == true)
        }

        /// Plain text is for this host, unless somebody says that the network may be trusted (R-67 asks the same of nodes).
        @Test func plainTextIsForThisHost() async {
            var configuration = EtcdConfiguration(endpoints: ["http://10.0.0.1:2379"])
            #expect(await Self.problem(configuration)?.contains("plain text") == true)
            configuration.allowsPlaintext = true
            #expect(await Self.problem(configuration) == nil)
        }

        @Test func httpsNeedsItsFiles() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
                "lockstep-etcd-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let files = try await Certificates(in: folder)
            var whole = EtcdConfiguration(endpoints: ["https://10.0.0.1:2379"])
            #expect(await Self.problem(whole)?.contains("three files") == true)
            (whole.authority, whole.certificate, whole.key) = (files.authority, files.client, files.clientKey)
            #expect(await Self.problem(whole) == nil)
            var changed = whole
            changed.authority = files.clientKey
            #expect(await Self.problem(changed)?.contains("no certificate") == true)
            changed = whole
            changed.certificate = folder.path + "/missing"
            #expect(await Self.problem(changed)?.contains("/missing") == true)
            changed = whole
            changed.key = files.client
            #expect(await Self.problem(changed)?.contains("\(files.client): ") == true)
            chmod(files.clientKey, 0o644)
            #expect(await Self.problem(whole)?.contains("chmod 600") == true)
            changed = EtcdConfiguration(endpoints: ["http://127.0.0.1:1"], authority: files.authority)
            #expect(await Self.problem(changed)?.contains("write https") == true)
        }

        @Test func timesAndPrefixHaveBounds() async {
            let whole = EtcdConfiguration(endpoints: ["http://127.0.0.1:2379"])
            for prefix in ["", "lockstep", "/lockstep/", "/" + String(repeating: "a", count: 256)] {
                var changed = whole
                changed.prefix = prefix
                #expect(await Self.problem(changed)?.contains("prefix") == true)
            }
            for time in [Duration.zero, .seconds(61)] {
                var changed = whole
                changed.connectTimeout = time
                #expect(await Self.problem(changed)?.contains("connectTimeout") == true)
                changed = whole
                changed.memberTimeout = time
                #expect(await Self.problem(changed)?.contains("memberTimeout") == true)
            }
        }
    }
#endif

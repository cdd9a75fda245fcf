#if Etcd
    import Foundation

    /// An authority, a certificate for etcd on 127.0.0.1, and one for a node: files that `openssl` makes.
    struct Certificates: Sendable {
        let authority: String
        let server: String
        let serverKey: String
        let client: String
        let clientKey: String

        // etcd's gateway is a client of etcd itself, and shows the server's certificate: so that must be one for clients,
        // too.
        private static let script = """
            set -e
            cd "$1"
            new() { openssl req "$@" -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes; }
            new -x509 -keyout authority.key -out authority.pem -subj "/CN=$2" -days 2
            sign() {
                new -keyout "$1.key" -out "$1.csr" -subj "/CN=$1"
                echo "$2" >"$1.ext"
                openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial -out "$1.pem" \
                    -days 2 -extfile "$1.ext"
                chmod 600 "$1.key"
            }
            sign server 'subjectAltName=IP:127.0.0.1
            extendedKeyUsage=serverAuth,clientAuth'
            sign client 'extendedKeyUsage=clientAuth'
            """

        init(in folder: URL, authority name: String = "etcd of a test") async throws {
            let folder = folder.appendingPathComponent("certificates-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
            authority = path("authority.pem")
            (server, serverKey) = (path("server.pem"), path("server.key"))
            (client, clientKey) = (path("client.pem"), path("client.key"))
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", Self.script, "sh", folder.path, name]
            let log = path("log")
            try Data().write(to: URL(fileURLWithPath: log))
            let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
            (process.standardOutput, process.standardError) = (output, output)
            process.standardInput = FileHandle.nullDevice
            let status: Int32 = try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
                do { try process.run() } catch {
                    process.terminationHandler = nil
                    continuation.resume(throwing: error)
                }
            }
            guard status == 0 else {
                throw EtcdTrouble(text: try String(contentsOfFile: log, encoding: .utf8))
            }
        }
    }
#endif

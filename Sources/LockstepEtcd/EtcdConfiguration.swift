#if Etcd
    import AsyncHTTPClient
    import Foundation
    package import LockstepNode
    import NIOCore
    import NIOSSL

    /// Which etcd keeps the configuration records, and how it is reached.
    ///
    /// With `https` both ends show certificates. Whoever has a client certificate of the authority can change records, so
    /// it is for data nodes only.
    public struct EtcdConfiguration: Hashable, Sendable {
        /// The members, as `https://HOST:PORT`; at least one, all of one etcd, in the order in which to try them.
        ///
        /// Members that are not named are not used. `http://` is for loopback addresses, and for a network that is
        /// trusted (``allowsPlaintext``).
        public var endpoints: [String]
        /// The file of certificates, PEM, of the authority that signed the members' certificates; needed by `https`.
        public var authority: String?
        /// The file of this node's client certificate, PEM, with those that lead to the authority; needed by `https`.
        public var certificate: String?
        /// The file of the certificate's secret key, PEM, which nobody else may read; needed by `https`.
        public var key: String?
        /// Before every key that is used in etcd; `/lockstep` by default.
        public var prefix = "/lockstep"
        /// How long a connection may take until it can be used; 1 s by default.
        public var connectTimeout = Duration.seconds(1)
        /// How long one member may take to answer a read before the next one is asked; 500 ms by default.
        ///
        /// The last one has the rest of the call's time. A write has the whole time at one member.
        public var memberTimeout = Duration.milliseconds(500)
        /// Whether `http` may be spoken beyond loopback addresses, so that who is in between can change records; false.
        public var allowsPlaintext = false

        /// Names the members of an etcd.
        ///
        /// - Parameters:
        ///   - endpoints: The members, as `https://HOST:PORT`.
        ///   - authority: The file of the authority's certificates.
        ///   - certificate: The file of this node's client certificate.
        ///   - key: The file of its secret key.
        public init(
            endpoints: [String], authority: String? = nil, certificate: String? = nil, key: String? = nil
        ) {
            self.endpoints = endpoints
            self.authority = authority
            self.certificate = certificate
            self.key = key
        }

        /// Checks everything, and reads the files of keys, without connecting; an error says what to change.
        package func check() throws(LockstepError) { _ = try CheckedEtcdConfiguration(self) }
    }

    /// A configuration that contradicts nothing, with its files read.
    struct CheckedEtcdConfiguration: Sendable {
        /// `http://HOST:PORT` or `https://HOST:PORT`.
        let endpoints: [String]
        let prefix: String
        let connectTimeout: Duration
        let memberTimeout: Duration
        /// Nil for `http`.
        let tls: TLSConfiguration?

        /// Checks everything, and reads the files of keys; an error says what to change.
        init(_ configuration: EtcdConfiguration) throws(LockstepError) {
            let endpoints = try configuration.endpoints.map { (text) throws(LockstepError) in
                try Endpoint(text)
            }
            guard let first = endpoints.first else {
                throw wrong("no endpoint of etcd is named: name its members, such as https://10.0.0.1:2379")
            }
            if let other = endpoints.first(where: { $0.isSecure != first.isSecure }) {
                throw wrong("\(first.text) and \(other.text) differ in http and https: use one of them")
            }
            if let twice = Set(endpoints.map(\.text)).first(where: { one in
                endpoints.filter { $0.text == one }.count > 1
            }) {
                throw wrong("\(twice) is named twice: name each member of etcd once")
            }
            if !first.isSecure, !configuration.allowsPlaintext,
                let open = endpoints.first(where: { !$0.isLoopback })
            {
                throw wrong(
                    "\(open.text) would be asked in plain text, and whoever is in between could change who is primary: "
                        + "use https, or allow plain text (--etcd-plaintext)")
            }
            let prefix = configuration.prefix
            guard prefix.hasPrefix("/"), !prefix.hasSuffix("/"), prefix.utf8.count <= 256 else {
                throw wrong("the prefix \"\(prefix)\" must begin with /, not end with it, and have at most 256 bytes")
            }
            for (name, value) in [
                ("connectTimeout", configuration.connectTimeout), ("memberTimeout", configuration.memberTimeout),
            ] where value < .milliseconds(10) || value > .seconds(60) {
                throw wrong("\(name) is \(value): use 10 ms to 60 s")
            }
            self.endpoints = endpoints.map(\.text)
            self.prefix = prefix
            connectTimeout = configuration.connectTimeout
            memberTimeout = configuration.memberTimeout
            tls = try first.isSecure ? Self.tls(configuration) : nil
            let files = [configuration.authority, configuration.certificate, configuration.key]
            if !first.isSecure, let file = files.compactMap({ $0 }).first {
                throw wrong("\(file) is named, and \(first.text) does not use it: write https")
            }
        }

        private struct Endpoint {
            var text: String
            var isSecure: Bool
            var isLoopback: Bool

            init(_ given: String) throws(LockstepError) {
                guard let parts = URLComponents(string: given), let scheme = parts.scheme?.lowercased(),
                    scheme == "http" || scheme == "https", let name = parts.host, Self.isHost(name),
                    let port = parts.port, (1...65_535).contains(port), parts.user == nil, parts.password == nil,
                    parts.path.isEmpty || parts.path == "/", parts.query == nil, parts.fragment == nil
                else {
                    throw wrong("\"\(given)\" is no endpoint of etcd: write https://HOST:PORT")
                }
                let host = name.contains(":") && !name.hasPrefix("[") ? "[\(name)]" : name
                text = "\(scheme)://\(host):\(port)"
                isSecure = scheme == "https"
                isLoopback = host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
            }

            private static func isHost(_ name: String) -> Bool {
                let signs = "-._:[]".utf8
                return !name.isEmpty
                    && name.utf8.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"):
                            true
                        default: signs.contains(byte)
                        }
                    }
            }
        }

        /// Both ends prove who they are: a node that anybody could be must not write records.
        private static func tls(_ configuration: EtcdConfiguration) throws(LockstepError) -> TLSConfiguration {
            guard let authority = configuration.authority, let certificate = configuration.certificate,
                let key = configuration.key
            else {
                throw wrong(
                    "https needs three files: the authority of etcd's certificates, this node's client certificate, "
                        + "and its key")
            }
            var settings = TLSConfiguration.makeClientConfiguration()
            settings.minimumTLSVersion = .tlsv12
            settings.certificateVerification = .fullVerification
            settings.trustRoots = .certificates(try certificates(authority))
            settings.certificateChain = try certificates(certificate).map { .certificate($0) }
            let bytes: [UInt8]
            do { bytes = try SecretFile.read(key, atMost: 64 << 10) } catch {
                throw error as? LockstepError ?? wrong("\(key): \(error)")
            }
            do { settings.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: bytes, format: .pem)) } catch {
                throw wrong("\(key): it is no secret key in the form PEM, or has a password")
            }
            return settings
        }

        private static func certificates(_ path: String) throws(LockstepError) -> [NIOSSLCertificate] {
            let found: [NIOSSLCertificate]
            do { found = try NIOSSLCertificate.fromPEMFile(path) } catch {
                throw wrong("\(path): it cannot be read, or is no certificate in the form PEM (\(error))")
            }
            guard !found.isEmpty else { throw wrong("\(path): it has no certificate") }
            return found
        }
    }

    private func wrong(_ message: String) -> LockstepError { LockstepError(.invalidConfiguration, message) }
#endif

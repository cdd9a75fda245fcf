internal import CZeroMQ

/// What a call into libzmq failed with, and at which endpoint.
///
/// "Nothing is waiting" and "would block" are not errors: they are `nil` and `false`. An interrupted call is repeated
/// inside the module and never seen. Making and comparing errors is cheap; only `description` asks libzmq for text.
public struct ZMQError: Error, Hashable, Sendable {
    /// The reason, as a number that can be compared.
    public let code: Code

    /// What was tried, in libzmq's words: `bind`, `connect`, `send`, `set ZMQ_SNDHWM`.
    public let operation: String

    /// The endpoint of a `bind`, `connect`, `unbind` or `disconnect`; `nil` for every other operation.
    public let endpoint: String?

    /// Why this module refused, where libzmq itself would have gone along or said too little; otherwise `nil`.
    public let explanation: String?

    /// The value of `errno` after a libzmq call.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number as the C library and libzmq define it.
        public let rawValue: Int32

        /// Names any `errno`, known to this module or not.
        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        /// The context is closing, so no further operation is possible but to close the socket (`ETERM`).
        public static let contextTerminated = Code(rawValue: Int32(ZMQ_HAUSNUMERO + 53))

        /// Somebody else is bound to the endpoint (`EADDRINUSE`).
        public static let addressInUse = Code(rawValue: EADDRINUSE)

        /// The endpoint names an interface or address that this host does not have (`EADDRNOTAVAIL`, `ENODEV`).
        public static let addressNotAvailable = Code(rawValue: EADDRNOTAVAIL)

        /// A value is out of range, or a setting or combination is refused (`EINVAL`).
        public static let invalidArgument = Code(rawValue: EINVAL)

        /// The endpoint's transport is unknown, or unknown to this build of libzmq (`EPROTONOSUPPORT`).
        public static let protocolNotSupported = Code(rawValue: EPROTONOSUPPORT)

        /// Nothing is bound or connected there (`ENOENT`).
        public static let noSuchEndpoint = Code(rawValue: ENOENT)

        /// The context's limit of sockets, or the process's limit of descriptors, is reached (`EMFILE`).
        public static let tooManySockets = Code(rawValue: EMFILE)

        /// This build of libzmq lacks the feature, such as CURVE (`ENOTSUP`).
        public static let notSupported = Code(rawValue: ENOTSUP)

        static let wouldBlock = Code(rawValue: EAGAIN)
        static let interrupted = Code(rawValue: EINTR)
        static let hostUnreachable = Code(rawValue: EHOSTUNREACH)
    }

    init(_ code: Code, operation: String, endpoint: String? = nil, explanation: String? = nil) {
        self.code = code
        self.operation = operation
        self.endpoint = endpoint
        self.explanation = explanation
    }

    /// Why the calling thread's last call of libzmq failed.
    static func last(operation: String, endpoint: String? = nil) -> ZMQError {
        ZMQError(Code(rawValue: zmq_errno()), operation: operation, endpoint: endpoint)
    }
}

extension ZMQError: CustomStringConvertible {
    /// One line such as `bind tcp://127.0.0.1:7400: Address already in use`.
    public var description: String {
        let reason = unsafe String(cString: zmq_strerror(code.rawValue))
        let subject = endpoint.map { "\(operation) \($0)" } ?? operation
        guard let explanation else { return "\(subject): \(reason)" }
        return "\(subject): \(reason): \(explanation)"
    }
}

/// Carries a libzmq call through to its outcome, repeating it for as long as signals interrupt it.
///
/// The only place of the module that looks at `errno` to decide what happens next. Inlined, because it stands between
/// every message and libzmq.
///
/// - Returns: The call's result, or `nil` if it would have had to wait (`EAGAIN`).
/// - Throws: Every other failure, naming the operation and the endpoint.
@inline(__always) @discardableResult
func complete(
    _ operation: @autoclosure () -> String, endpoint: @autoclosure () -> String? = nil, _ call: () -> Int32
) throws(ZMQError) -> Int32? {
    while true {
        let result = call()
        guard result < 0 else { return result }
        switch ZMQError.Code(rawValue: zmq_errno()) {
        case .interrupted: continue
        case .wouldBlock: return nil
        case let code: throw ZMQError(code, operation: operation(), endpoint: endpoint())
        }
    }
}

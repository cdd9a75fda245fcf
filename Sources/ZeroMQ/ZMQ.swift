internal import CZeroMQ

/// Facts about the libzmq that this process runs with.
///
/// Not named like the module, because a type of the same name would hide the module's other names from
/// `ZeroMQ.Context` and the like.
public enum ZMQ {
    /// A version of the library, ordered as versions are.
    public struct Version: Comparable, Sendable, CustomStringConvertible {
        /// Grows when programs must change.
        public let major: Int

        /// Grows when features are added.
        public let minor: Int

        /// Grows when faults are fixed.
        public let patch: Int

        /// Names a version, to compare the running one with.
        public init(_ major: Int, _ minor: Int, _ patch: Int) {
            self.major = major
            self.minor = minor
            self.patch = patch
        }

        /// Whether one version is older than the other.
        public static func < (left: Version, right: Version) -> Bool {
            (left.major, left.minor, left.patch) < (right.major, right.minor, right.patch)
        }

        /// The usual form, such as `4.3.4`.
        public var description: String { "\(major).\(minor).\(patch)" }
    }

    /// The version of the library that is loaded, which may differ from the header that was compiled (`zmq_version`).
    public static var version: Version {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        unsafe zmq_version(&major, &minor, &patch)
        return Version(Int(major), Int(minor), Int(patch))
    }

    /// The version of libsodium, with which libzmq does the cryptography of CURVE on most systems.
    ///
    /// `nil` if it is not loaded: this libzmq has other cryptography, or none.
    public static var sodiumVersion: String? {
        unsafe czeromq_sodium_version().map { unsafe String(cString: $0) }
    }

    /// Whether the loaded library was built with a feature (`zmq_has`).
    ///
    /// - Parameter capability: libzmq's own word: `ipc`, `curve`, `draft`, `pgm`, `tipc`, `norm`, `gssapi`.
    /// - Returns: `false` also for words that the library does not know.
    public static func has(_ capability: String) -> Bool {
        unsafe zmq_has(capability) == 1
    }
}

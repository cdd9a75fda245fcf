internal import CZeroMQ

/// A setting of a socket: its C constant, its unit, and the values that it takes.
///
/// All are applied when a socket is made, because most take effect only before the first `bind` or `connect`. What is
/// not listed here cannot be set, on purpose. `ZMQ_LINGER` and `ZMQ_RCVHWM` are always 0: with a limit on its receive
/// queue, libzmq up to 4.3.5 can be made to abort the process by any peer that sends a valid PING while the queue is
/// full and closes (zeromq/libzmq#3596, #4767, #4830). `ZMQ_HEARTBEAT_*` runs into the same assertion,
/// `ZMQ_CONNECT_ROUTING_ID` into another; `ZMQ_XPUB_MANUAL` uses freed memory in 4.3.4; `ZMQ_ROUTING_ID`,
/// `ZMQ_ROUTER_HANDOVER`, `ZMQ_PROBE_ROUTER`, `ZMQ_CONFLATE` and `ZMQ_XPUB_NODROP` lose or stall messages.
public struct SocketOption<Value: Sendable>: Sendable {
    /// The C constant's name, such as `ZMQ_SNDHWM`.
    public let name: String

    let code: Int32
    let width: OptionWidth
    let range: ClosedRange<Int64>
    let encode: @Sendable (Value) -> OptionValue
    let decode: @Sendable (OptionValue) -> Value?
}

/// How many bytes libzmq expects an option to have.
enum OptionWidth: Sendable {
    case int32, int64, text
}

/// An option's value as libzmq takes it, except for the width of the integer.
enum OptionValue: Hashable, Sendable {
    case integer(Int64)
    case text(String)
}

// MARK: - Counts, sizes and numbers

extension SocketOption where Value == Int {
    private init(
        _ code: Int32, _ name: String, within range: ClosedRange<Int64>, width: OptionWidth = .int32
    ) {
        self.init(
            name: name, code: code, width: width, range: range, encode: { .integer(Int64($0)) },
            decode: { if case .integer(let number) = $0 { Int(number) } else { nil } })
    }

    /// How many messages wait for one peer before sending would block, or a publisher drops (`ZMQ_SNDHWM`).
    ///
    /// The default is 1,000, for a ``Subscriber`` 0, which means without limit. Counted in messages whatever their
    /// size, so choose it as a budget of bytes divided by the largest message. Over `inproc://` the queue has no limit,
    /// because the receiving end has none and libzmq adds the two.
    public static var sendHighWaterMark: Self { .init(ZMQ_SNDHWM, "ZMQ_SNDHWM", within: 0...Int64(Int32.max)) }

    /// The largest message to receive, in bytes; a peer that sends a larger one is disconnected (`ZMQ_MAXMSGSIZE`).
    ///
    /// The default is -1, no limit: then one frame header can make this process allocate any amount. Set it on every
    /// socket that strangers can reach. Does not apply to `inproc://`.
    public static var maxMessageSize: Self {
        .init(ZMQ_MAXMSGSIZE, "ZMQ_MAXMSGSIZE", within: -1...Int64.max, width: .int64)
    }

    /// How many connections may wait to be accepted (`ZMQ_BACKLOG`); the default is 100.
    public static var backlog: Self { .init(ZMQ_BACKLOG, "ZMQ_BACKLOG", within: 0...Int64(Int32.max)) }

    /// The kernel's send buffer in bytes (`ZMQ_SNDBUF`, `SO_SNDBUF`); the default -1 leaves the kernel's own.
    public static var sendBufferSize: Self { .init(ZMQ_SNDBUF, "ZMQ_SNDBUF", within: -1...Int64(Int32.max)) }

    /// The kernel's receive buffer in bytes (`ZMQ_RCVBUF`, `SO_RCVBUF`); the default -1 leaves the kernel's own.
    public static var receiveBufferSize: Self { .init(ZMQ_RCVBUF, "ZMQ_RCVBUF", within: -1...Int64(Int32.max)) }

    /// The type-of-service byte of outgoing packets (`ZMQ_TOS`); the default is 0.
    public static var typeOfService: Self { .init(ZMQ_TOS, "ZMQ_TOS", within: 0...255) }

    /// How many unanswered probes of TCP mean a dead peer (`ZMQ_TCP_KEEPALIVE_CNT`); the default -1 is the system's.
    public static var tcpKeepAliveCount: Self {
        .init(ZMQ_TCP_KEEPALIVE_CNT, "ZMQ_TCP_KEEPALIVE_CNT", within: -1...Int64(Int32.max))
    }

    /// Which of the context's I/O threads may serve this socket, as a mask whose lowest bit is the first thread.
    ///
    /// The default 0 means all (`ZMQ_AFFINITY`).
    public static var ioThreadMask: Self {
        .init(ZMQ_AFFINITY, "ZMQ_AFFINITY", within: 0...Int64.max, width: .int64)
    }
}

// MARK: - Switches

extension SocketOption where Value == Bool {
    fileprivate init(_ code: Int32, _ name: String) {
        self.init(
            name: name, code: code, width: .int32, range: 0...1, encode: { .integer($0 ? 1 : 0) },
            decode: { $0 == .integer(1) })
    }

    /// Queues only for peers whose connection is complete (`ZMQ_IMMEDIATE`).
    ///
    /// The default is `false`: messages wait for a peer that is not there yet, and reach it however old they are. With
    /// `true`, sending would block until somebody is there.
    public static var immediate: Self { .init(ZMQ_IMMEDIATE, "ZMQ_IMMEDIATE") }

    /// Has TCP probe idle connections (`ZMQ_TCP_KEEPALIVE`, `SO_KEEPALIVE`); the default is the system's setting.
    public static var tcpKeepAlive: Self { .init(ZMQ_TCP_KEEPALIVE, "ZMQ_TCP_KEEPALIVE") }

    /// Resolves and accepts IPv6 addresses beside IPv4 (`ZMQ_IPV6`); the default is `false`.
    public static var ipv6: Self { .init(ZMQ_IPV6, "ZMQ_IPV6") }

    /// Refuses every connection if a ZAP domain is set and nobody answers for it (`ZMQ_ZAP_ENFORCE_DOMAIN`).
    ///
    /// The default is `false`: without a ZAP handler a CURVE server accepts any client key.
    public static var zapEnforceDomain: Self { .init(ZMQ_ZAP_ENFORCE_DOMAIN, "ZMQ_ZAP_ENFORCE_DOMAIN") }

    static var curveServer: Self { .init(ZMQ_CURVE_SERVER, "ZMQ_CURVE_SERVER") }
}

// MARK: - Times

extension SocketOption where Value == Duration {
    private init(_ code: Int32, _ name: String, milliseconds unit: Int64 = 1, from least: Int64 = 0) {
        self.init(
            name: name, code: code, width: .int32, range: least...Int64(Int32.max),
            encode: { .integer(($0.millisecondsRoundedUp + unit - 1) / unit) },
            decode: { if case .integer(let number) = $0 { .milliseconds(unit) * number } else { nil } })
    }

    /// How long a new connection may take to agree on version, security and types (`ZMQ_HANDSHAKE_IVL`).
    ///
    /// The default is 30 s; zero means for ever. Counted in milliseconds, rounded up.
    public static var handshakeTimeout: Self { .init(ZMQ_HANDSHAKE_IVL, "ZMQ_HANDSHAKE_IVL") }

    /// How long to wait before connecting again after a loss (`ZMQ_RECONNECT_IVL`).
    ///
    /// The default is 100 ms, to which libzmq adds a random part of as much again. Counted in milliseconds, rounded up.
    public static var reconnectInterval: Self { .init(ZMQ_RECONNECT_IVL, "ZMQ_RECONNECT_IVL") }

    /// Up to what the wait doubles while connecting fails again and again (`ZMQ_RECONNECT_IVL_MAX`).
    ///
    /// The default is zero: it does not grow. Counted in milliseconds, rounded up.
    public static var reconnectIntervalMax: Self { .init(ZMQ_RECONNECT_IVL_MAX, "ZMQ_RECONNECT_IVL_MAX") }

    /// How long an attempt to connect may take (`ZMQ_CONNECT_TIMEOUT`).
    ///
    /// The default is zero: as long as the system tries, about two minutes. Counted in milliseconds, rounded up.
    public static var connectTimeout: Self { .init(ZMQ_CONNECT_TIMEOUT, "ZMQ_CONNECT_TIMEOUT") }

    /// How long a connection may be idle before TCP probes it (`ZMQ_TCP_KEEPALIVE_IDLE`).
    ///
    /// The default is the system's, usually two hours. Counted in seconds, rounded up, at least 1.
    public static var tcpKeepAliveIdle: Self {
        .init(ZMQ_TCP_KEEPALIVE_IDLE, "ZMQ_TCP_KEEPALIVE_IDLE", milliseconds: 1_000, from: 1)
    }

    /// How long TCP waits between probes (`ZMQ_TCP_KEEPALIVE_INTVL`).
    ///
    /// The default is the system's, usually 75 s. Counted in seconds, rounded up, at least 1.
    public static var tcpKeepAliveInterval: Self {
        .init(ZMQ_TCP_KEEPALIVE_INTVL, "ZMQ_TCP_KEEPALIVE_INTVL", milliseconds: 1_000, from: 1)
    }

    /// How long TCP repeats what the peer does not acknowledge (`ZMQ_TCP_MAXRT`, `TCP_USER_TIMEOUT`).
    ///
    /// The default is zero: as long as the system tries, about fifteen minutes. Counted in milliseconds, rounded up.
    public static var tcpRetransmissionTimeout: Self { .init(ZMQ_TCP_MAXRT, "ZMQ_TCP_MAXRT") }
}

// MARK: - Texts

extension SocketOption where Value == String {
    private init(_ code: Int32, _ name: String, length: ClosedRange<Int64>) {
        self.init(
            name: name, code: code, width: .text, range: length, encode: { .text($0) },
            decode: { if case .text(let text) = $0 { text } else { nil } })
    }

    /// The name under which the ZAP handler is asked about this socket's peers (`ZMQ_ZAP_DOMAIN`).
    ///
    /// 1 to 255 bytes. The default is none: a ZAP handler is then not asked about peers without security.
    public static var zapDomain: Self { .init(ZMQ_ZAP_DOMAIN, "ZMQ_ZAP_DOMAIN", length: 1...255) }

    static var curvePublicKey: Self { .init(ZMQ_CURVE_PUBLICKEY, "ZMQ_CURVE_PUBLICKEY", length: 40...40) }
    static var curveSecretKey: Self { .init(ZMQ_CURVE_SECRETKEY, "ZMQ_CURVE_SECRETKEY", length: 40...40) }
    static var curveServerKey: Self { .init(ZMQ_CURVE_SERVERKEY, "ZMQ_CURVE_SERVERKEY", length: 40...40) }
}

extension Duration {
    /// The number of milliseconds that it takes to last at least as long; -1 for less than nothing.
    var millisecondsRoundedUp: Int64 {
        guard self >= .zero else { return -1 }
        guard components.seconds < Int64.max / 2_000 else { return Int64.max / 2 }
        return components.seconds * 1_000 + (components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

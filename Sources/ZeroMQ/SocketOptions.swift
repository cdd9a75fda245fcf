internal import CZeroMQ

/// The settings that a socket is made with; what is not set has libzmq's default.
///
///     var options = SocketOptions()
///     options[.maxMessageSize] = 1_114_112
///     options[.handshakeTimeout] = .seconds(4)
///     let router = try Socket<Router>(in: context, options: options)
///
/// A value, which can be kept and used for many sockets. A value out of its range is found when a socket is made.
public struct SocketOptions: Sendable {
    private var settings: [Setting] = []

    private struct Setting: Sendable {
        let code: Int32
        let name: String
        let width: OptionWidth
        let range: ClosedRange<Int64>
        let value: OptionValue
    }

    /// Makes options of which none is set.
    public init() {}

    /// The value of one option; `nil` leaves libzmq's default.
    public subscript<Value>(option: SocketOption<Value>) -> Value? {
        get {
            settings.first { $0.code == option.code }.flatMap { option.decode($0.value) }
        }
        set {
            settings.removeAll { $0.code == option.code }
            guard let newValue else { return }
            settings.append(
                Setting(
                    code: option.code, name: option.name, width: option.width, range: option.range,
                    value: option.encode(newValue)))
        }
    }

    /// Accepts only peers who speak CURVE and know the public key of `keys`.
    ///
    /// Without a ZAP handler *any* client key is accepted: traffic is encrypted, but nobody is kept out. Bind the
    /// handler first, and set ``SocketOption/zapDomain`` and ``SocketOption/zapEnforceDomain``.
    ///
    /// - Parameter keys: The server's own keys (`ZMQ_CURVE_SERVER`, `ZMQ_CURVE_SECRETKEY`).
    public mutating func serveCurve(_ keys: CurveKeyPair) {
        self[.curveServer] = true
        self[.curvePublicKey] = keys.publicKey.z85
        self[.curveSecretKey] = keys.secretKey.z85
        self[.curveServerKey] = nil
    }

    /// Connects only to a server that proves to hold the secret of `serverKey`, and encrypts the traffic.
    ///
    /// - Parameters:
    ///   - keys: This side's own keys (`ZMQ_CURVE_PUBLICKEY`, `ZMQ_CURVE_SECRETKEY`).
    ///   - serverKey: The server's public key (`ZMQ_CURVE_SERVERKEY`).
    public mutating func useCurve(_ keys: CurveKeyPair, serverKey: CurvePublicKey) {
        self[.curveServer] = nil
        self[.curvePublicKey] = keys.publicKey.z85
        self[.curveSecretKey] = keys.secretKey.z85
        self[.curveServerKey] = serverKey.z85
    }

    /// Applies all settings to a socket that is neither bound nor connected.
    func apply(to socket: SocketHandle) throws(ZMQError) {
        for setting in settings {
            let (value, unit) =
                switch setting.value {
                case .integer(let number): (number, "")
                case .text(let text): (Int64(text.utf8.count), " bytes")
                }
            guard setting.range.contains(value) else {
                throw ZMQError(
                    .invalidArgument, operation: "set \(setting.name)",
                    explanation: "\(value)\(unit) is not in \(setting.range)")
            }
            switch (setting.value, setting.width) {
            case (.integer(let number), .int64): try socket.set(setting.code, setting.name, to: number)
            case (.integer(let number), _): try socket.set(setting.code, setting.name, to: Int32(number))
            case (.text(let text), _): try socket.set(setting.code, setting.name, to: Array(text.utf8))
            }
        }
    }
}

extension SocketOptions: CustomStringConvertible {
    /// The names of the options that are set, without their values, of which some are secret.
    public var description: String {
        settings.map(\.name).joined(separator: ", ")
    }
}

import LockstepCore

/// What an action of ``CountingState`` says besides a byte to be added.
///
/// - 200, policy, bound, group, name, names to be cancelled...: an effect; the letters are the names, 0 is none.
/// - 201, name; 202, number: a cancellation. 203, time: a timer. 204, count: so many mutations of 1, times 256.
enum EffectAction {
    case run(RunPlan, cancelling: [String])
    case cancelName(String)
    case cancelNumber(RequestNumber)
    case timer(LogTime)
    case large(Int)

    init?(_ bytes: [UInt8]) {
        guard let first = bytes.first else { return nil }
        switch first {
        case 200 where bytes.count >= 5:
            let policy: RunPolicy =
                switch bytes[1] {
                case 0: .merge(max: bytes[2] == 0 ? .max : Int(bytes[2]))
                case 1: .serial(waiting: Int(bytes[2]))
                case 2: .latest
                default: .first
                }
            let names = bytes[4] == 0 ? [] : [Self.name(bytes[4])]
            let limits = bytes[3] == 0 ? [] : [RunLimit(policy, group: Self.name(bytes[3]))]
            let plan = RunPlan(limits: limits, names: names)
            self = .run(plan, cancelling: bytes[5...].map { Self.name($0) })
        case 201 where bytes.count == 2: self = .cancelName(Self.name(bytes[1]))
        case 202 where bytes.count == 2: self = .cancelNumber(UInt64(bytes[1]))
        case 203 where bytes.count == 9:
            self = .timer(LogTime(rawValue: (1...8).reduce(0) { $0 | Int64(bytes[$1]) << Int64(8 * ($1 - 1)) }))
        case 204 where bytes.count == 2: self = .large(Int(bytes[1]) * 256)
        default: return nil
        }
    }

    private static func name(_ byte: UInt8) -> String { String(UnicodeScalar(byte)) }

    // MARK: - The bytes of actions

    static func run(
        _ policy: RunPolicy = .merge(max: .max), group: Unicode.Scalar? = nil, name: Unicode.Scalar? = nil,
        cancelling: [Unicode.Scalar] = []
    ) -> [UInt8] {
        let (kind, bound): (UInt8, UInt8) =
            switch policy {
            case .merge(let max): (0, max == .max ? 0 : UInt8(max))
            case .serial(let waiting): (1, UInt8(waiting))
            case .latest: (2, 0)
            case .first: (3, 0)
            }
        return [200, kind, bound, byte(group), byte(name)] + cancelling.map { byte($0) }
    }

    static func cancel(_ name: Unicode.Scalar) -> [UInt8] { [201, byte(name)] }
    static func timer(_ time: LogTime) -> [UInt8] { [203] + mutation(1, time).dropFirst() }

    private static func byte(_ scalar: Unicode.Scalar?) -> UInt8 { scalar.map { UInt8($0.value) } ?? 0 }

    // MARK: - Mutations

    static func mutation(setting time: LogTime) -> [UInt8] { mutation(1, time) }

    static func mutation(firing time: LogTime, leaving: Bool) -> [UInt8] { mutation(leaving ? 3 : 2, time) }

    private static func mutation(_ kind: UInt8, _ time: LogTime) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(kind)
        writer.write(time.rawValue)
        return writer.bytes
    }

    /// The content of an `emitted` entry: mutations that each add a byte.
    static func emission(_ bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(UInt64(bytes.count))
        for byte in bytes { writer.writeBytes([byte]) }
        return writer.bytes
    }

    /// The item with which a run ends: its last mutations and a reply.
    static func end(_ status: ActionStatus = .committed, adding bytes: [UInt8] = [], reply: [UInt8] = []) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(UInt64(bytes.count) << 2 | UInt64(status.rawValue))
        for byte in bytes { writer.writeBytes([byte]) }
        writer.writeBytes(reply)
        return writer.bytes
    }
}

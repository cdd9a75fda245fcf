import LockstepCore

/// The replicated part of effects: deadlines, what the state asks for, and a trail of all that was reduced.
struct EffectTables: Hashable, Sendable {
    var timers: [UInt64: LogTime] = [:]
    /// What is asked for: the ticket of each name.
    var requests: [UInt64: UInt64] = [:]
    /// A hash over all mutations with their places, in their order.
    var trail: UInt64 = 0

    var nextDue: LogTime? { timers.values.min() }

    /// What is due at `time`, in the order of deadlines and names.
    func due(at time: LogTime) -> [(timer: UInt64, deadline: LogTime)] {
        timers.filter { $0.value <= time }.map { ($0.key, $0.value) }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
    }

    mutating func reduce(_ mutation: EffectMutation, at epoch: Epoch, _ sequence: SequenceNumber, _ time: LogTime) {
        switch mutation {
        case .timerSet(let timer, let deadline): timers[timer] = deadline
        case .timerCancelled(let timer), .timerFired(let timer, _): timers[timer] = nil
        case .asked(let name, let ticket): requests[name] = ticket
        case .withdrawn(let name): requests[name] = nil
        case .emission, .lastWord, .source, .feedback: break
        }
        var hash = FieldHash()
        hash.combine(trail)
        for byte in mutation.bytes { hash.combine(UInt64(byte)) }
        hash.combine(epoch.rawValue)
        hash.combine(sequence.rawValue)
        hash.combine(UInt64(bitPattern: time.rawValue))
        trail = UInt64(truncatingIfNeeded: hash.value)
    }

    var digest: Digest {
        var sum = UInt128(trail)
        for (kind, table) in [timers.mapValues { UInt64(bitPattern: $0.rawValue) }, requests].enumerated() {
            for (key, value) in table {
                var hash = FieldHash()
                hash.combine(UInt64(kind))
                hash.combine(key)
                hash.combine(value)
                sum &+= hash.value
            }
        }
        return Digest(rawValue: sum)
    }

    // MARK: - Bytes

    func write(to writer: inout ByteWriter) {
        for table in [timers.mapValues { UInt64($0.rawValue) }, requests] {
            writer.writeVarint(UInt64(table.count))
            for (key, value) in table.sorted(by: { $0.key < $1.key }) {
                writer.writeVarint(key)
                writer.writeVarint(value)
            }
        }
        writer.write(trail)
    }

    init() {}

    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        for isTimers in [true, false] {
            for _ in 0..<(try reader.readVarint(from: bytes)) {
                let key = try reader.readVarint(from: bytes)
                let value = try reader.readVarint(from: bytes)
                if isTimers {
                    timers[key] = LogTime(rawValue: Int64(clamping: value))
                } else {
                    requests[key] = value
                }
            }
        }
        trail = try reader.read(from: bytes)
    }
}

package import LockstepCore

/// What callers of the effects' workload ask for beside counters.
package enum EffectAction: Hashable, Sendable {
    /// Something that does not end at once.
    case start(EffectScript)
    case cancelName(UInt64)
    case cancelRun(RunID)
    /// A deadline so many microseconds of log time from now; one of that name is replaced.
    case setTimer(UInt64, after: UInt64)
    case cancelTimer(UInt64)
    /// The state asks for an effect until it says otherwise; one of that name begins anew.
    case ask(UInt64)
    case withdraw(UInt64)
}

/// An effect: some emissions, some time apart, and an end.
package struct EffectScript: Hashable, Sendable {
    package var emissions: UInt64
    /// Milliseconds between two of them, on average.
    package var pace: UInt64
    package var fails = false
    /// It does not wait until an emission has committed.
    package var isEager = false
    /// A primary that runs it again ends it at once.
    package var endsWhenResumed = false
    /// Which of ``EffectGroup/all``.
    package var group: UInt64 = 0
    /// A name under which it can be cancelled; 0: none.
    package var name: UInt64 = 0
    /// Runs of this name are cancelled when it is accepted; 0: none.
    package var cancels: UInt64 = 0
    /// The sender cancels it this many milliseconds after its submission; 0: never.
    package var cancelledAfter: UInt64 = 0

    package init(emissions: UInt64, pace: UInt64) {
        self.emissions = emissions
        self.pace = pace
    }

    package var plan: RunPlan {
        let group = EffectGroup.all[Int(group) % EffectGroup.all.count]
        return RunPlan(limits: group.limits, names: name == 0 ? [] : ["n\(name)"])
    }
}

/// The limits that runs keep to together.
package struct EffectGroup: Hashable, Sendable {
    /// What tests call it.
    package var name: String
    package var limits: [RunLimit]

    private static let two = RunLimit(.merge(max: 2), group: "two")
    private static let line = RunLimit(.serial(waiting: 3), group: "line")
    private static let newest = RunLimit(.latest, group: "newest")

    package static let all = [
        EffectGroup(name: "", limits: []),
        EffectGroup(name: "two", limits: [two]),
        EffectGroup(name: "line", limits: [line]),
        EffectGroup(name: "newest", limits: [newest]),
        EffectGroup(name: "oldest", limits: [RunLimit(.first, group: "oldest")]),
        EffectGroup(name: "all", limits: [RunLimit(.merge(max: .max), group: "all")]),
        // In both orders, and with one that others wait for until they are superseded.
        EffectGroup(name: "two, line", limits: [two, line]),
        EffectGroup(name: "line, two", limits: [line, two]),
        EffectGroup(name: "newest, line", limits: [newest, line]),
    ]
}

/// What an entry does to the effects' tables.
package enum EffectMutation: Hashable, Sendable {
    case timerSet(UInt64, deadline: LogTime)
    case timerCancelled(UInt64)
    case timerFired(UInt64, deadline: LogTime)
    /// The ticket is the sequence number of this entry.
    case asked(UInt64, ticket: UInt64)
    case withdrawn(UInt64)
    /// A run's own, the index-th of this attempt, in the epoch of the primary that runs it.
    case emission(RunID, epoch: Epoch, attempt: UInt64, index: UInt64)
    case lastWord(RunID, epoch: Epoch, attempt: UInt64)
    case source(UInt64, index: UInt64)
    case feedback(UInt64, ticket: UInt64, index: UInt64)
}

/// The first byte of everything here, which no bytes of the counters begin with.
package enum EffectBytes {
    package static let marker: UInt8 = 0xF5

    /// Whether the bytes are not the counters'.
    static func areOurs(_ bytes: RawSpan, _ range: Range<Int>) -> Bool {
        var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
        return (try? reader.read(UInt8.self, from: bytes)) == marker
    }

    fileprivate static func write(_ kind: UInt8, _ fields: [UInt64]) -> [UInt8] {
        var writer = ByteWriter(capacity: 24)
        writer.write(marker)
        writer.write(kind)
        for field in fields { writer.writeVarint(field) }
        return writer.bytes
    }

    fileprivate static func read(
        _ bytes: RawSpan, _ range: Range<Int>
    ) throws(WireError) -> (kind: UInt8, fields: [UInt64]) {
        var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
        guard try reader.read(UInt8.self, from: bytes) == marker else {
            throw WireError(.unknownKind, at: range.lowerBound)
        }
        let kind = try reader.read(UInt8.self, from: bytes)
        var fields: [UInt64] = []
        while reader.remaining > 0 { fields.append(try reader.readVarint(from: bytes)) }
        return (kind, fields)
    }
}

extension EffectAction {
    package var bytes: [UInt8] {
        switch self {
        case .start(let script):
            EffectBytes.write(
                1,
                [
                    script.emissions, script.pace, script.fails ? 1 : 0, script.isEager ? 1 : 0,
                    script.endsWhenResumed ? 1 : 0, script.group, script.name, script.cancels, script.cancelledAfter,
                ])
        case .cancelName(let name): EffectBytes.write(2, [name])
        case .cancelRun(let id):
            EffectBytes.write(3, [id.session.epoch.rawValue, id.session.sequence.rawValue, id.number])
        case .setTimer(let timer, let after): EffectBytes.write(4, [timer, after])
        case .cancelTimer(let timer): EffectBytes.write(5, [timer])
        case .ask(let name): EffectBytes.write(6, [name])
        case .withdraw(let name): EffectBytes.write(7, [name])
        }
    }

    package init(_ bytes: RawSpan, _ range: Range<Int>) throws(WireError) {
        let (kind, fields) = try EffectBytes.read(bytes, range)
        switch (kind, fields.count) {
        case (1, 9):
            var script = EffectScript(emissions: fields[0], pace: fields[1])
            script.fails = fields[2] == 1
            script.isEager = fields[3] == 1
            script.endsWhenResumed = fields[4] == 1
            script.group = fields[5]
            script.name = fields[6]
            script.cancels = fields[7]
            script.cancelledAfter = fields[8]
            self = .start(script)
        case (2, 1): self = .cancelName(fields[0])
        case (3, 3): self = .cancelRun(RunID(fields))
        case (4, 2): self = .setTimer(fields[0], after: fields[1])
        case (5, 1): self = .cancelTimer(fields[0])
        case (6, 1): self = .ask(fields[0])
        case (7, 1): self = .withdraw(fields[0])
        default: throw WireError(.unknownKind, at: range.lowerBound)
        }
    }

    package init?(_ bytes: [UInt8]) {
        guard let action = withBytes(of: bytes, { try? EffectAction($0, 0..<$0.byteCount) }) else { return nil }
        self = action
    }
}

extension EffectMutation {
    package var bytes: [UInt8] {
        switch self {
        case .timerSet(let timer, let deadline): EffectBytes.write(1, [timer, UInt64(deadline.rawValue)])
        case .timerCancelled(let timer): EffectBytes.write(2, [timer])
        case .timerFired(let timer, let deadline): EffectBytes.write(3, [timer, UInt64(deadline.rawValue)])
        case .asked(let name, let ticket): EffectBytes.write(4, [name, ticket])
        case .withdrawn(let name): EffectBytes.write(5, [name])
        case .emission(let id, let epoch, let attempt, let index):
            EffectBytes.write(6, id.fields + [epoch.rawValue, attempt, index])
        case .lastWord(let id, let epoch, let attempt):
            EffectBytes.write(7, id.fields + [epoch.rawValue, attempt])
        case .source(let name, let index): EffectBytes.write(8, [name, index])
        case .feedback(let name, let ticket, let index): EffectBytes.write(9, [name, ticket, index])
        }
    }

    package init(_ bytes: RawSpan, _ range: Range<Int>) throws(WireError) {
        let (kind, fields) = try EffectBytes.read(bytes, range)
        switch (kind, fields.count) {
        case (1, 2): self = .timerSet(fields[0], deadline: LogTime(rawValue: Int64(clamping: fields[1])))
        case (2, 1): self = .timerCancelled(fields[0])
        case (3, 2): self = .timerFired(fields[0], deadline: LogTime(rawValue: Int64(clamping: fields[1])))
        case (4, 2): self = .asked(fields[0], ticket: fields[1])
        case (5, 1): self = .withdrawn(fields[0])
        case (6, 6):
            self = .emission(RunID(fields), epoch: Epoch(rawValue: fields[3]), attempt: fields[4], index: fields[5])
        case (7, 5): self = .lastWord(RunID(fields), epoch: Epoch(rawValue: fields[3]), attempt: fields[4])
        case (8, 2): self = .source(fields[0], index: fields[1])
        case (9, 3): self = .feedback(fields[0], ticket: fields[1], index: fields[2])
        default: throw WireError(.unknownKind, at: range.lowerBound)
        }
    }

    /// As an emission carries them: a count, then each preceded by its length.
    package static func list(_ mutations: [EffectMutation]) -> [UInt8] {
        var writer = ByteWriter(capacity: 32)
        writer.writeVarint(UInt64(mutations.count))
        for mutation in mutations { writer.writeBytes(mutation.bytes) }
        return writer.bytes
    }

    /// An item: the end of a run.
    package static func item(_ status: ActionStatus, _ mutations: [EffectMutation], reply: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(capacity: 32)
        writer.writeVarint(UInt64(mutations.count) << 2 | UInt64(status.rawValue))
        for mutation in mutations { writer.writeBytes(mutation.bytes) }
        writer.writeBytes(reply)
        return writer.bytes
    }
}

extension RunID {
    fileprivate init(_ fields: [UInt64]) {
        self.init(
            session: SessionID(
                epoch: Epoch(rawValue: fields[0]), sequence: SequenceNumber(rawValue: fields[1])), number: fields[2])
    }

    fileprivate var fields: [UInt64] { [session.epoch.rawValue, session.sequence.rawValue, number] }
}

import LockstepCore

/// How many frames of each kind a process sends in a second of virtual time: none may send a storm of them.
package struct FrameRates {
    /// BUSY is counted by its reason, since each has a pause of its own.
    private static let kinds = 104
    private static let busyReasons = 96
    private var counts: [Int]
    private var windowEnds: Int64 = 0
    private let processes: Int
    private let setting: Setting

    /// What is simulated: the bounds of each are its own.
    package enum Setting: Sendable { case onePrimary, dataNodes }

    package init(processes: Int, of setting: Setting = .onePrimary) {
        self.processes = processes
        self.setting = setting
        counts = Array(repeating: 0, count: processes * Self.kinds)
    }

    /// A process sends a frame.
    package mutating func sent(_ frame: [UInt8], by process: Int) {
        guard frame.count >= FrameHeader.byteCount else { return }
        var kind = Int(frame[5])
        if kind == Int(MessageKind.busy.rawValue), let reason = frame.last { kind = Self.busyReasons + Int(reason) }
        if kind < Self.kinds { counts[process * Self.kinds + kind] += 1 }
    }

    /// Ends the window if a second is over; returns what went beyond its bound: the process, the kind and the count.
    ///
    /// `load` is how many more calls are made in a second than the bounds were measured with. A window that begins at
    /// `usualSince` or later has no unusual ways.
    package mutating func look(
        now: Int64, load: Double, usualSince: Int64
    ) -> (process: Int, kind: String, count: Int)? {
        guard now >= windowEnds else { return nil }
        let isUnusual = max(0, windowEnds - Span.second) < usualSince
        windowEnds = now + Span.second
        var found: (process: Int, kind: String, count: Int)?
        for process in 0..<processes {
            for kind in 0..<Self.kinds where counts[process * Self.kinds + kind] > 0 {
                let count = counts[process * Self.kinds + kind]
                counts[process * Self.kinds + kind] = 0
                let bound =
                    setting == .dataNodes ? Self.boundOfDataNodes(kind) : Self.bound(kind, isUnusual: isUnusual)
                let most = Self.slack * Double(bound) * max(1, load)
                if found == nil, Double(count) > most {
                    found = (process, Self.name(kind), count)
                }
            }
        }
        return found
    }

    /// What one seed in a thousand needs beyond the bounds, and more: a storm sends thousands.
    package static let slack = 4.0

    /// About twice the most of 600 seeds, without unusual ways and with them.
    ///
    /// With them a node forgets who a peer is, again and again; the peer then says at once all that it waits for. What
    /// that multiplies has no bound there.
    private static func bound(_ kind: Int, isUnusual: Bool) -> Int {
        if let reason = busyReason(kind) {
            return switch reason {
            case .overloaded: 80
            case .diskFull: 60
            // Every 20 ms for each client while the primary awaits its replicas.
            case .notAdmitting: 850
            case .windowFull, .quota: 400
            case .insufficientMembers: 20
            case .tooManyRuns: 20
            }
        }
        let (usual, unusual): (Int, Int) =
            switch MessageKind(rawValue: UInt8(kind)) {
            case .hello: (30, .max)
            case .welcome: (160, .max)
            // One of four HELLOs, where that way is on.
            case .refused: (60, .max)
            case .open: (30, 150)
            case .opened: (80, 150)
            case .resume: (10, .max)
            case .resumed: (30, .max)
            case .sessionMoved: (5, 10)
            case .submit: (250, .max)
            case .result: (110, 190)
            case .outOfOrder: (20, .max)
            case .sessionExpired, .sessionUnknown: (100, 100)
            case .keepAlive, .close, .closed: (15, 25)
            case .read: (210, .max)
            case .readResult: (400, .max)
            case .query, .queryResult: (400, .max)
            case .resync: (100, .max)
            case .runRequest: (20, .max)
            case .runEnded, .runGone: (100, 150)
            case .watch, .watchResult, .unwatch: (400, .max)
            case .sync: (30, 40)
            case .syncPlan: (70, 70)
            case .chunkRequest, .chunk: (10, 20)
            case .repairRequest, .repair: (70, 200)
            case .batch: (500, 520)
            case .beacon: (110, 120)
            // What a rogue makes up, and what only data nodes say to each other.
            case .fetch, .fetchPlan, .append, .acknowledge, .heartbeat, .confirmRequest, .confirm, .recordRequest,
                .record, .stepDown, .takeOver, .busy, .adminRequest, .adminResponse, nil:
                (.max, .max)
            }
        return isUnusual ? unusual : usual
    }

    /// With data nodes, which may all become the primary: twice the most of 800 seeds, or more where that is little.
    ///
    /// They know no unusual ways.
    private static func boundOfDataNodes(_ kind: Int) -> Int {
        switch MessageKind(rawValue: UInt8(kind)) {
        case .append: 2_500
        case .acknowledge: 1_200
        case .confirmRequest: 700
        case .result: 450
        case .recordRequest: 400
        // One to each node that says that it reigns, with each of its heartbeats.
        case .stepDown: 260
        case .confirm, .record, .readResult: 200
        case .submit: 100
        case .hello, .heartbeat, .read, .refused: 90
        case .welcome, .fetchPlan, .resumed: 50
        // Of BUSY at most 18 came in a second, of other kinds that are not named 10.
        default: kind >= busyReasons ? 40 : 20
        }
    }

    private static func busyReason(_ kind: Int) -> BusyReason? {
        kind >= busyReasons ? BusyReason(rawValue: UInt8(kind - busyReasons)) : nil
    }

    private static func name(_ kind: Int) -> String {
        if let reason = busyReason(kind) { return "busy(\(reason))" }
        return MessageKind(rawValue: UInt8(kind)).map { "\($0)" } ?? "unknown"
    }
}

import LockstepCore

/// What nodes tell those who watch: places that do not go back on a connection (PROTOCOL R-57).
struct WatchChecker {
    /// A watch as its node's frames show it; numbers are a client's own, and so a connection's.
    private struct Key: Hashable {
        var process: Int
        var boot: Int
        var connection: Connection
        var number: UInt64
    }

    private var places: [Key: (epoch: Epoch, sequence: SequenceNumber)] = [:]

    /// How often a node gave up its log for another, which begins anywhere.
    private(set) var losses = 0

    /// A node gives up its log: what it told before is of another.
    mutating func forgot(_ process: Int) {
        losses += 1
        places = places.filter { $0.key.process != process }
    }

    /// A node sends an answer; says whether one of a newer place went before it.
    mutating func goesBack(_ result: ReadResult, to connection: Connection, by process: SimulatedProcess) -> Bool {
        guard result.status == .answered else { return false }
        let key = Key(process: process.id, boot: process.boot, connection: connection, number: result.id)
        defer { places[key] = (result.epoch, result.sequence) }
        guard let before = places[key] else { return false }
        return (result.epoch, result.sequence) < (before.epoch, before.sequence)
    }
}

extension Oracle {
    /// What is judged by whom it is sent to.
    private static let addressed: Set<UInt8> = Set(
        [.watchResult, .resumed, .runEnded, .runGone].map { (kind: MessageKind) in kind.rawValue })

    /// A node sends a frame to somebody, who may watch something, or not be the owner of what it is about.
    func wasSent(_ frame: [UInt8], to connection: Connection, by process: NodeProcess) {
        guard frame.count > 5, Self.addressed.contains(frame[5]) else { return }
        switch withBytes(of: frame, { try? Message.decode($0, rule: .any).message }) {
        case .watchResult(let result)?:
            if watchers.goesBack(result, to: connection, by: process) {
                fail(.monotonic, "\(process.name) tells a watcher of \(result.sequence) after a newer place")
            }
        case .resumed(let resumed)?: checkTold(of: resumed.session, connection, by: process)
        case .runEnded(let ended)?: checkTold(of: ended.id.session, connection, by: process)
        case .runGone(let id)?: checkTold(of: id.session, connection, by: process)
        default: return
        }
    }
}

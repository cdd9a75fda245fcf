import DequeModule
import LockstepCore

/// What reaches a process.
enum Arrival {
    /// A frame on one of its own sockets.
    case server(Port, Connection, [UInt8])
    /// A frame on a link that it opened.
    case link(Link, [UInt8])
    case mail(Mail)
}

/// Work that a process had done beside its turns.
enum Mail {
    case written(ticket: UInt64, WriteOutcome)
    case saved(SnapshotNumber)
    case encoded(SnapshotNumber)
    case prepared(PrepareTicket, PreparedOutcome)
    /// A wake-up of an executor.
    case effect(UInt64)
    /// A sender wants its action ended.
    case cancelRun(RunID)
}

/// How a write of the journal ended.
enum WriteOutcome: Hashable {
    case done
    case full
    case failed
}

/// How the decoding of a snapshot ended.
enum PreparedOutcome {
    case ready(any PreparedState)
    case failed
}

/// One process of the cluster: what every kind of them shares.
///
/// Stores of one node are processes that share a host: its address, its ports, its clock, and its fate.
///
/// Frames that arrive wait for its next turn, as in the node's own loop; a turn handles some of them, then the ends of
/// turns of its machines run, then their deadlines. A process that is paused does nothing and misses nothing.
class SimulatedProcess {
    let id: Int
    /// The number under which it is reached: its own, or that of the node's first store.
    let host: Int
    let name: String
    /// What it belongs to, and where its calls and what it says are judged.
    unowned let store: SimulatedStore
    unowned let simulation: Simulation
    var random: SplitMix64
    /// How often it was started; what belongs to an earlier life is not delivered.
    private(set) var boot = 0
    private(set) var isUp = false
    private(set) var pausedUntil: Int64 = 0
    var clock = SimulatedClock()
    /// What an access list lets it take.
    var quota = SenderQuota()
    private var inbox: Deque<Arrival> = []
    private var turnAt = Int64.max

    init(id: Int, host: Int? = nil, name: String, store: SimulatedStore, random: SplitMix64) {
        self.id = id
        self.host = host ?? id
        self.name = name
        self.store = store
        simulation = store.simulation
        self.random = random
    }

    /// Who it is for a primary with an access list; nil in a cluster without keys.
    var sender: Sender? { simulation.options.hasKeys ? Sender(name: name, quota: quota) : nil }

    // MARK: - For the kinds

    /// Makes the machines of a new life; false if it cannot start.
    func begin() -> Bool { true }
    /// Lets go of everything that lives in memory.
    func end() {}
    func handle(_ arrival: Arrival) {}
    /// The end of a turn, and what time brings.
    func finishTurn() {}
    var nextDeadline: Tick { .never }
    func listens(on port: Port) -> Bool { false }
    /// Whether its caller is asked for something new.
    var takesCalls: Bool { true }
    func checkInvariants() {}
    /// Its machines no longer take unusual ways.
    func takeUsualWays() {}

    // MARK: - Life

    var now: Tick { clock.tick(at: simulation.now) }
    var wall: LogTime { clock.wall(at: simulation.now) }

    func start() {
        guard !isUp else { return }
        boot += 1
        simulation.health.disturbed(id, until: simulation.now)
        clock.restart(at: simulation.now)
        inbox.removeAll()
        turnAt = .max
        pausedUntil = 0
        isUp = true
        guard begin() else {
            isUp = false
            return
        }
        simulation.trace(id, .started, UInt64(boot), 0)
        wake(at: simulation.now)
        let others = simulation.others(onHostOf: self)
        for other in others { other.start() }
        // A node that cannot open one of its stores opens none.
        if others.contains(where: { !$0.isUp }) { stop() }
    }

    func stop() {
        guard isUp else { return }
        simulation.trace(id, .stopped, UInt64(boot), 0)
        isUp = false
        simulation.health.disturbed(id, until: simulation.now)
        end()
        inbox.removeAll()
        turnAt = .max
        simulation.network.wentDown(self)
        for other in simulation.others(onHostOf: self) { other.stop() }
    }

    func pause(for duration: Int64) {
        for process in [self] + simulation.others(onHostOf: self) { process.stand(for: duration) }
    }

    private func stand(for duration: Int64) {
        pausedUntil = max(pausedUntil, simulation.now + duration)
        simulation.health.disturbed(id, until: pausedUntil)
        simulation.trace(id, .paused, UInt64(pausedUntil), 0)
    }

    func resume() {
        guard pausedUntil > simulation.now else { return }
        pausedUntil = simulation.now
        wake(at: simulation.now)
    }

    // MARK: - Turns

    func arrived(_ arrival: Arrival) {
        guard isUp else { return }
        inbox.append(arrival)
        wake(at: simulation.now + 10 * Span.microsecond)
    }

    func mail(_ mail: Mail, after delay: Int64) {
        simulation.add(.mail(self, boot: boot, mail), after: delay)
    }

    func wake(at time: Int64) {
        guard isUp, time < turnAt else { return }
        turnAt = max(time, pausedUntil)
        simulation.add(.turn(self, boot: boot), at: turnAt)
    }

    func turn(boot: Int, at time: Int64) {
        guard isUp, boot == self.boot, time == turnAt else { return }
        turnAt = .max
        guard pausedUntil <= time else {
            wake(at: pausedUntil)
            return
        }
        var left = 1 + Int(random.next(below: 64))
        while left > 0, isUp, let arrival = inbox.popFirst() {
            handle(arrival)
            left -= 1
        }
        guard isUp else { return }
        finishTurn()
        guard isUp else { return }
        checkInvariants()
        let busy = simulation.now + random.between(5, 50) * Span.microsecond
        guard inbox.isEmpty else { return wake(at: busy) }
        let deadline = nextDeadline
        if deadline != .never { wake(at: max(busy, clock.time(of: deadline))) }
    }
}

/// A process's clocks: one that only goes on, at its own rate, and a wall clock that may be wrong.
struct SimulatedClock {
    /// Thousandths of the true rate.
    private(set) var rate: Int64 = 1_000
    private var origin: Int64 = 0
    private var base: Int64 = Span.second
    /// How far the wall clock is ahead of the truth, in nanoseconds.
    private(set) var wallError: Int64 = 0

    /// 2025-06-15, as good as any.
    private static let epoch: Int64 = 1_750_000_000_000_000

    func tick(at time: Int64) -> Tick { Tick(rawValue: base + (time - origin) * rate / 1_000) }

    func wall(at time: Int64) -> LogTime {
        LogTime(rawValue: Self.epoch + (time + wallError) / 1_000)
    }

    /// When the clock will show `tick`, rounded up.
    func time(of tick: Tick) -> Int64 {
        guard tick != .never else { return .max }
        guard tick.rawValue > base else { return origin }
        return origin + ((tick.rawValue - base) * 1_000 + rate - 1) / rate
    }

    mutating func restart(at time: Int64) {
        origin = time
        base = Span.second
    }

    mutating func setRate(_ rate: Int64, at time: Int64) {
        base = tick(at: time).rawValue
        origin = time
        self.rate = rate
    }

    mutating func jump(to error: Int64) { wallError = error }
}

import LockstepTesting
import SearchCache
import Synchronization

/// A backend in virtual time that fails in all ways that backends have, as a seed says.
///
/// The hits of a page name the serial number of the request that brought them. It counts what it is asked, and notes
/// when a query is asked while it is still being asked in the same life of the primary.
final class BackendModel: Sendable {
    let clock: VirtualClock
    private let contents: Mutex<Contents>

    /// What may become of a request.
    enum Fate: String, CaseIterable, Sendable {
        case answered, unchanged, offline, limited, server, badAnswer, strange, refused, unchangedLie, cancelsItself
        case never, late, cancelled
    }

    fileprivate struct Contents: Sendable {
        var random: Seeded
        var fails: Bool
        var answersOld = false
        var serial: UInt64 = 0
        var versions: [String: Int] = [:]
        var first: [String: UInt64] = [:]
        var offlineUntil = Duration.zero
        var limitedUntil = Duration.zero
        var counts: [String: Int] = [:]
        var running: [UInt64: Running] = [:]
        var happened: [Fate: Int] = [:]
        var problems: [String] = []
        /// Those that answer after their cancellation, and when.
        var late: [(time: Duration, continuation: CheckedContinuation<Void, Never>)] = []
    }

    fileprivate struct Running: Sendable {
        var life: Int
        var query: String
        var isCancelled = false
        /// When another request of its query came.
        var overlappedAt: Duration?
    }

    struct StrangeError: Error {}

    init(clock: VirtualClock, seed: UInt64, fails: Bool) {
        self.clock = clock
        contents = Mutex(Contents(random: Seeded(seed), fails: fails))
    }

    // MARK: - For the test

    /// How often each query was asked, all pages together.
    var counts: [String: Int] { contents.withLock { $0.counts } }
    var requests: Int { contents.withLock { $0.counts.values.reduce(0, +) } }
    var happened: [Fate: Int] { contents.withLock { $0.happened } }
    var problems: [String] { contents.withLock { $0.problems } }
    var running: Int { contents.withLock { $0.running.count } }

    /// From now on half of its answers are those that it gave at first: a defect.
    func answerOld() { contents.withLock { $0.answersOld = true } }

    /// No request is answered from here on: a defect.
    func goOffline() { contents.withLock { $0.offlineUntil = .seconds(1_000_000) } }

    /// Every further request is answered.
    func heal() {
        contents.withLock { contents in
            contents.fails = false
            (contents.offlineUntil, contents.limitedUntil) = (.zero, .zero)
        }
        release(all: true)
    }

    /// Answers those that went on after their cancellation and whose time has come.
    func release(all: Bool = false) {
        let now = clock.elapsed
        let ready = contents.withLock { contents in
            let ready = contents.late.filter { all || $0.time <= now }
            contents.late.removeAll { all || $0.time <= now }
            return ready
        }
        for waiting in ready { waiting.continuation.resume() }
    }

    // MARK: - Requests

    func search(_ request: SearchRequest, life: Int) async throws -> SearchResult {
        let (serial, fate, latency, isLate) = contents.withLock { $0.begin(request, life, at: clock.elapsed) }
        defer { contents.withLock { $0.ended(serial, at: clock.elapsed) } }
        return try await withTaskCancellationHandler {
            do {
                try await clock.sleep(for: fate == .never ? .seconds(1_000_000) : latency)
            } catch {
                guard isLate else { throw error }
                await goOn(for: latency)
            }
            return try contents.withLock { try $0.result(of: request, fate, serial, at: clock.elapsed) }
        } onCancel: {
            contents.withLock { $0.cancelled(serial, at: clock.elapsed) }
        }
    }

    /// Takes no notice of its cancellation.
    private func goOn(for latency: Duration) async {
        await withCheckedContinuation { continuation in
            let isOver = contents.withLock { contents in
                guard contents.fails else { return true }
                contents.happened[.late, default: 0] += 1
                contents.late.append((clock.elapsed + latency, continuation))
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    fileprivate static func lastPage(of query: String) -> Int { query.utf8.reduce(0) { $0 + Int($1) } % 4 }
}

extension BackendModel.Contents {
    mutating func begin(
        _ request: SearchRequest, _ life: Int, at now: Duration
    ) -> (serial: UInt64, fate: BackendModel.Fate, latency: Duration, isLate: Bool) {
        serial += 1
        counts[request.query, default: 0] += 1
        for (other, run) in running where run.life == life && run.query == request.query && !run.isCancelled {
            running[other]?.overlappedAt = run.overlappedAt ?? now
        }
        running[serial] = BackendModel.Running(life: life, query: request.query)
        var latency = Duration.milliseconds(Int(random.below(20)))
        if random.below(3) > 0 { latency = .milliseconds(Int(random.below(1_500))) }
        let fate = fails ? fate(at: now) : .answered
        happened[fate, default: 0] += 1
        return (serial, fate, latency, fails && random.below(3) == 0)
    }

    private mutating func fate(at now: Duration) -> BackendModel.Fate {
        if now < offlineUntil { return .offline }
        if now < limitedUntil { return .limited }
        switch random.below(100) {
        case 0..<4:
            offlineUntil = now + .milliseconds(Int(random.below(6_000)))
            return .offline
        case 4..<8:
            limitedUntil = now + .milliseconds(Int(500 + random.below(6_000)))
            return .limited
        case 8..<16: return .server
        case 16..<22: return .badAnswer
        case 22..<27: return .strange
        case 27..<30: return .refused
        case 30..<32: return .unchangedLie
        case 32..<37: return .cancelsItself
        case 37..<42: return .never
        default: return .answered
        }
    }

    mutating func cancelled(_ serial: UInt64, at now: Duration) {
        noteOverlap(of: serial, at: now)
        running[serial]?.isCancelled = true
        happened[.cancelled, default: 0] += 1
    }

    mutating func ended(_ serial: UInt64, at now: Duration) {
        noteOverlap(of: serial, at: now)
        running[serial] = nil
    }

    /// The one before is cancelled at the moment at which the next one begins; both must not go on.
    private mutating func noteOverlap(of serial: UInt64, at now: Duration) {
        guard let run = running[serial], !run.isCancelled, let since = run.overlappedAt, since < now else { return }
        problems.append("the query \(run.query) was asked twice at the same time, from \(since) to \(now)")
    }

    mutating func result(
        of request: SearchRequest, _ fate: BackendModel.Fate, _ serial: UInt64, at now: Duration
    ) throws -> SearchResult {
        switch fate {
        case .offline: throw SearchError(.offline, "no route to host")
        case .limited:
            let left = limitedUntil - now
            throw SearchError(.rateLimited, "slower, please", retryAfter: random.below(4) == 0 ? nil : left)
        case .server: throw SearchError(.server, "status 503", retryAfter: random.below(4) == 0 ? .seconds(1) : nil)
        case .badAnswer: throw SearchError(.badAnswer, "unexpected end of the text")
        case .strange: throw BackendModel.StrangeError()
        case .refused: throw SearchError(.refused, "status 422")
        case .cancelsItself: throw CancellationError()
        case .unchangedLie: return .unchanged
        default: return page(request, serial)
        }
    }

    private mutating func page(_ request: SearchRequest, _ serial: UInt64) -> SearchResult {
        let (query, last) = (request.query, BackendModel.lastPage(of: request.query))
        if random.below(3) == 0 { versions[query, default: 1] += 1 }
        let version = versions[query, default: 1]
        let etag = last % 2 == 0 ? "v\(version)" : nil
        if let etag, request.etag == etag, !answersOld {
            happened[.unchanged, default: 0] += 1
            return .unchanged
        }
        guard request.page <= max(1, last) else { return .page([], hasNext: false) }
        let key = "\(query)/\(request.page)"
        if first[key] == nil { first[key] = serial }
        let source = answersOld && random.below(2) == 0 ? first[key] ?? serial : serial
        let hits = (0...random.below(3)).map { number in
            SearchHit(
                title: "\(key) v\(version) \(number)", url: "serial/\(source)",
                snippet: String(repeating: "x", count: Int(random.below(900))))
        }
        return .page(hits, hasNext: request.page < last, total: last * 4, etag: etag)
    }
}

/// The backend as one life of a process has it.
struct ModelBackend: SearchBackend {
    let model: BackendModel
    let life: Int
    var name: String { "model" }
    func search(_ request: SearchRequest) async throws -> SearchResult {
        try await model.search(request, life: life)
    }
}

/// Numbers of a seed, the same everywhere.
struct Seeded: RandomNumberGenerator, Sendable {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ bound: UInt64) -> UInt64 { next() % bound }
}

package import LockstepNode

/// What `top` shows: the newest looks at nodes, a minute of each, and what the keys have chosen.
///
/// It knows nothing of a terminal or a clock: looks, keys and the time come in, ``frame(columns:rows:)`` comes out.
package struct TopModel {
    /// What one question to a node came to.
    package struct Look: Sendable {
        /// The node's folder, which names it until it answers.
        package var path: String
        /// Its answer; nil if there is none.
        package var status: NodeStatus?
        /// Without an answer, why, in a word or two.
        package var word: String
        /// The same in a line.
        package var reason: String?

        package init(path: String, status: NodeStatus?, word: String = "", reason: String? = nil) {
            self.path = path
            self.status = status
            self.word = word
            self.reason = reason
        }
    }

    /// In which order nodes stand.
    package enum Order: String, CaseIterable, Sendable {
        case given, lag, rate
    }

    /// A moment of a store.
    struct Sample {
        var at: Double
        var commit: UInt64
        var lag: UInt64?
    }

    /// How long is remembered, in seconds.
    package static let span = 60.0

    /// The newest looks, in the order in which the nodes were named.
    private(set) var looks: [Look] = []
    /// By path and store, the oldest first.
    private var samples: [String: [Sample]] = [:]
    /// When the newest looks were taken.
    private(set) var now = 0.0
    private var chosenStore: String?
    package private(set) var order = Order.given
    package private(set) var isPaused = false
    package private(set) var isHelpShown = false
    /// Whether the program goes on.
    package private(set) var isRunning = true

    package init() {}

    /// Takes one look at each node; none while it is paused.
    ///
    /// - Parameters:
    ///   - looks: In the order in which the nodes were named.
    ///   - time: When, in seconds of any clock that does not go back.
    package mutating func take(_ looks: [Look], at time: Double) {
        guard !isPaused else { return }
        self.looks = looks
        now = time
        for look in looks {
            guard let status = look.status else { continue }
            for store in status.stores { add(store, of: look.path) }
        }
        for key in samples.keys {
            samples[key]?.removeAll { $0.at < now - Self.span - 1 }
            if samples[key]?.isEmpty ?? true { samples[key] = nil }
        }
    }

    private mutating func add(_ store: StoreStatus, of path: String) {
        let key = Self.key(path, store.name)
        // A node that went back, or began anew, has no rate over that.
        if let last = samples[key]?.last, last.commit > store.commit { samples[key] = [] }
        samples[key, default: []].append(Sample(at: now, commit: store.commit, lag: Self.lag(of: store)))
    }

    /// Of a replica its lag; of a primary that of the replica that is furthest behind, 0 without one.
    static func lag(of store: StoreStatus) -> UInt64? {
        let replicas = store.peers.filter { $0.role == "replica" }
        return replicas.isEmpty ? store.lag : replicas.map(\.lag).max()
    }

    private static func key(_ path: String, _ store: String) -> String { "\(path)\u{0}\(store)" }

    // MARK: - Keys

    /// Does what a key says.
    package mutating func press(_ key: TopKey) {
        if isHelpShown, key != .quit {
            isHelpShown = false
            return
        }
        switch key {
        case .quit: isRunning = false
        case .left, .up: choose(-1)
        case .right, .down: choose(1)
        case .sort:
            let all = Order.allCases
            order = all[((all.firstIndex(of: order) ?? 0) + 1) % all.count]
        case .pause: isPaused.toggle()
        case .help: isHelpShown = true
        case .escape, .other: break
        }
    }

    private mutating func choose(_ step: Int) {
        let stores = stores
        guard let store, let place = stores.firstIndex(of: store) else { return }
        chosenStore = stores[(place + step + stores.count) % stores.count]
    }

    // MARK: - Reading

    /// The stores of all nodes, by name.
    var stores: [String] { Set(looks.flatMap { $0.status?.stores.map(\.name) ?? [] }).sorted() }

    /// The store that is shown; nil if no node has one.
    package var store: String? {
        let stores = stores
        return chosenStore.flatMap { stores.contains($0) ? $0 : nil } ?? stores.first
    }

    /// Entries a second of a node's store at each sample but the first, the oldest first, with their times.
    func rates(of path: String, _ store: String) -> [(at: Double, value: Double)] {
        let samples = samples[Self.key(path, store)] ?? []
        return zip(samples, samples.dropFirst()).map { before, after in
            (after.at, Double(after.commit - before.commit) / max(after.at - before.at, 0.001))
        }
    }

    /// The lags, the oldest first, where they are known.
    func lags(of path: String, _ store: String) -> [(at: Double, value: Double)] {
        (samples[Self.key(path, store)] ?? []).compactMap { sample in
            sample.lag.map { (sample.at, Double($0)) }
        }
    }

    /// The looks in the order that was chosen; the greatest first.
    var ordered: [Look] {
        guard let store, order != .given else { return looks }
        func weight(_ look: Look) -> Double {
            let points = order == .lag ? lags(of: look.path, store) : rates(of: look.path, store)
            return look.status == nil ? -1 : points.last?.value ?? 0
        }
        return looks.enumerated().sorted { left, right in
            let (one, two) = (weight(left.element), weight(right.element))
            return one == two ? left.offset < right.offset : one > two
        }.map(\.element)
    }

    /// What the marks of a store say: nil if no two nodes have one at the same place.
    func marks(of store: String) -> (sequence: UInt64, areEqual: Bool)? {
        let marks = looks.compactMap { $0.status?.stores.first { $0.name == store }?.mark }
        let places = Dictionary(grouping: marks, by: \.sequence).filter { $0.value.count > 1 }
        guard let newest = places.keys.max() else { return nil }
        // One difference anywhere is what must be seen.
        if let differing = places.filter({ Set($0.value.map(\.digest)).count > 1 }).keys.max() {
            return (differing, false)
        }
        return (newest, true)
    }
}

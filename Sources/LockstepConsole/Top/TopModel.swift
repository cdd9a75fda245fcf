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

    /// A line of the table: a node that was asked, or a replica that its primary hears.
    struct Row {
        /// By what its samples are kept.
        var path: String
        var node: String
        var role: NodeStatus.Role
        var phase: String
        var isWell: Bool
        var commit: UInt64
        var lag: UInt64?
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
        for store in stores {
            for peer in heard(in: store) { add(peer.applied, lag: peer.lag, Self.heardPath(peer), store) }
        }
        for key in samples.keys {
            samples[key]?.removeAll { $0.at < now - Self.span - 1 }
            if samples[key]?.isEmpty ?? true { samples[key] = nil }
        }
    }

    private mutating func add(_ store: StoreStatus, of path: String) {
        add(store.commit, lag: Self.lag(of: store), path, store.name)
    }

    private mutating func add(_ commit: UInt64, lag: UInt64?, _ path: String, _ store: String) {
        let key = Self.key(path, store)
        // A node that went back, or began anew, has no rate over that.
        if let last = samples[key]?.last, last.commit > commit { samples[key] = [] }
        samples[key, default: []].append(Sample(at: now, commit: commit, lag: lag))
    }

    private static func heardPath(_ peer: StoreStatus.Peer) -> String { "\u{0}\(peer.node)" }

    /// Of a replica its lag; of a primary that of the replica that is furthest behind, 0 without one.
    static func lag(of store: StoreStatus) -> UInt64? {
        let replicas = store.peers.filter { $0.role == .replica }
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

    /// The replicas that primaries hear of and that did not answer themselves.
    func heard(in store: String) -> [StoreStatus.Peer] {
        let own = Set(looks.compactMap { $0.status?.node })
        return looks.compactMap(\.status).flatMap { status in
            status.stores.first { $0.name == store && status.role(in: $0) == .primary }?.peers ?? []
        }.filter { $0.role == .replica && !own.contains($0.node) }
    }

    /// The nodes that have a store, in the order that was chosen, the greatest first.
    var rows: [Row] {
        guard let store else { return [] }
        let asked: [Row] = looks.compactMap { look in
            guard let status = look.status, let found = status.stores.first(where: { $0.name == store }) else {
                return nil
            }
            return Row(
                path: look.path, node: status.node, role: status.role(in: found), phase: found.phase.rawValue,
                isWell: found.phase == .admitting || found.phase == .live, commit: found.commit,
                lag: Self.lag(of: found))
        }
        let heard = heard(in: store).map { peer in
            Row(
                path: Self.heardPath(peer), node: peer.node, role: peer.role,
                phase: "\(Int(peer.silentSeconds)) s ago", isWell: peer.silentSeconds < 3, commit: peer.applied,
                lag: peer.lag)
        }
        guard order != .given else { return asked + heard }
        func weight(_ row: Row) -> Double {
            (order == .lag ? lags(of: row.path, store) : rates(of: row.path, store)).last?.value ?? 0
        }
        return (asked + heard).enumerated().sorted { left, right in
            let (one, two) = (weight(left.element), weight(right.element))
            return one == two ? left.offset < right.offset : one > two
        }.map(\.element)
    }

    /// What the marks of a store say: nil if no two nodes have one at the same place.
    func marks(of store: String) -> (sequence: UInt64, areEqual: Bool)? {
        let asked = looks.compactMap { $0.status?.stores.first { $0.name == store }?.mark }
        let marks = asked + heard(in: store).compactMap(\.mark)
        let places = Dictionary(grouping: marks, by: \.sequence).filter { $0.value.count > 1 }
        guard let newest = places.keys.max() else { return nil }
        // One difference anywhere is what must be seen.
        if let differing = places.filter({ Set($0.value.map(\.digest)).count > 1 }).keys.max() {
            return (differing, false)
        }
        return (newest, true)
    }
}

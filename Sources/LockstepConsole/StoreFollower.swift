package import Lockstep
internal import LockstepNode
internal import Synchronization

/// Follows the commits of a store while somebody looks, and keeps the newest of them.
///
/// It does no more than ``Pace/most`` commits a second: on a store with more it passes over what it cannot follow, says
/// so, and goes on with the current state. All of its work is on the task of ``follow()`` and on those that ask, none
/// on the node's thread but the hand-over of batches that it holds anyway.
final class StoreFollower<R: Reactor>: Sendable {
    private let store: Store<R>
    private let contents = Mutex(Contents())

    private struct Contents {
        var history: StateHistory<R>?
        var entries = KeptLog<R>(capacity: KeptStates.most)
        var missed: UInt64 = 0
        var isFollowed = false
    }

    init(_ store: Store<R>) { self.store = store }

    // MARK: - Following

    /// Follows until the task is cancelled or the node has stopped, and lets go of all that it kept.
    func follow() async {
        defer { letGo() }
        while !Task.isCancelled {
            // The initial state is not the cluster's: nothing is followed before there is another.
            guard store.hasState, case let start = store.snapshot else {
                guard await Self.pause(.milliseconds(200)) else { return }
                continue
            }
            let isFirst = begin(at: start)
            let isOver = await withTaskGroup(of: Void.self) { group in
                if isFirst { group.addTask { await self.readOlder(than: start) } }
                defer { group.cancelAll() }
                return await self.follow(after: start)
            }
            guard !isOver, await Self.pause(.milliseconds(100)) else { return }
        }
    }

    /// Follows from a state on; true if there is nothing more to come.
    private func follow(after start: Snapshot<R.State>) async -> Bool {
        var pace = Pace(now: .now)
        var measureAgain = ContinuousClock.now + Self.measuringInterval
        var last = start.place
        var commits = store.commits(after: start).makeAsyncIterator()
        do {
            while let commit = try await commits.next() {
                guard SameLog.mayFollow(commit.place, after: last) else { return false }
                last = commit.place
                await keep(commit)
                if ContinuousClock.now >= measureAgain {
                    guard hasRoom(for: commit.after) else { return false }
                    measureAgain = .now + Self.measuringInterval
                }
                guard let rest = pace.rest(now: .now) else { continue }
                guard await Self.pause(rest) else { return true }
                let behind = store.place.sequence.rawValue.subtractingWithoutWrap(commit.place.sequence.rawValue)
                if behind > UInt64(Pace.most) { return false }
            }
            return true
        } catch {
            // The entries were no longer there, or the node has another history now: go on with its state.
            return Task.isCancelled
        }
    }

    private static func pause(_ duration: Duration) async -> Bool {
        do { try await Task.sleep(for: duration) } catch { return false }
        return true
    }

    /// Begins with a state, or goes on with it after a gap; true if nothing was kept of its log before.
    private func begin(at start: Snapshot<R.State>) -> Bool {
        let old = contents.withLock { $0.history }
        // Let go outside of the lock: it may be the last holder of much memory.
        defer { withExtendedLifetime(old) {} }
        if let old, let missed = SameLog.gap(from: old.range.upperBound, to: start.place) {
            contents.withLock { contents in
                contents.isFollowed = true
                contents.missed += missed
                contents.entries.passOver(missed)
            }
            if missed > 0 { old.passOver(to: start) }
            return false
        }
        // The first time, or what was kept may be of a log that is no more.
        let history = StateHistory<R>(start: start, capacity: KeptStates.count(of: start.state))
        contents.withLock { contents in
            contents.isFollowed = true
            contents.history = history
            contents.entries.removeAll()
        }
        return true
    }

    /// Whether as many states as now may be kept; if the state has outgrown that, all are let go, to begin anew.
    private func hasRoom(for state: R.State) -> Bool {
        let count = KeptStates.count(of: state)
        guard count < contents.withLock({ $0.history?.capacity ?? 0 }) else { return true }
        letGo()
        return false
    }

    /// How often it is measured whether the state has grown.
    private static var measuringInterval: Duration { .seconds(30) }

    private func keep(_ commit: Commit<R>) async {
        guard let history = contents.withLock({ $0.history }) else { return }
        await history.didCommit(commit)
        contents.withLock { $0.entries.append(commit.entry) }
    }

    private func letGo() {
        let dropped = contents.withLock { contents in
            defer { contents = Contents() }
            return contents.history
        }
        withExtendedLifetime(dropped) {}
    }

    /// Reads the entries before the first state that the node still has in memory: their lines, without states.
    private func readOlder(than start: Snapshot<R.State>) async {
        let last = start.place
        var reach = UInt64(KeptStates.most)
        while reach > 0, last.sequence.rawValue > 0 {
            let first = SequenceNumber(rawValue: last.sequence.rawValue.subtractingWithoutWrap(reach))
            do {
                // After the last one it may wait for the next, for which the task is cancelled or which ends it. What
                // has replaced the state's log ends it, too: its entries are of a later epoch.
                for try await entry in store.entries(after: first) {
                    guard entry.place <= last else { break }
                    contents.withLock { $0.entries.insert(entry) }
                }
                return
            } catch {
                // Fewer are in memory, or none: what is older has its place in the journal only.
                reach /= 4
            }
        }
    }

    // MARK: - Answering

    var kept: KeptEntries {
        contents.withLock { contents in
            let range = contents.history?.range
            return KeptEntries(
                store: store.name, isFollowed: contents.isFollowed,
                firstState: range?.lowerBound.sequence.rawValue, lastState: range?.upperBound.sequence.rawValue,
                mostStates: contents.history?.capacity ?? 0, lines: contents.entries.count, missed: contents.missed)
        }
    }

    func lines(before: UInt64?, limit: Int) -> EntryPage {
        contents.withLock { $0.entries.page(before: before, limit: limit) }
    }

    func news(after counted: UInt64, limit: Int) -> EntryNews {
        contents.withLock { contents in
            let count = contents.entries.total.subtractingWithoutWrap(counted)
            let page = contents.entries.page(before: nil, limit: Int(min(count, UInt64(limit))))
            return EntryNews(store: store.name, entries: page.entries, count: count, total: contents.entries.total)
        }
    }

    func entry(_ sequence: UInt64) throws -> EntryAnswer {
        let (line, entry) = contents.withLock { ($0.entries.line(sequence), $0.entries.entry(sequence)) }
        let before = sequence.subtractingWithoutWrap(1)
        let rest = "lockstep journal dump --data DATA --store \(store.name) --after \(before) --through \(sequence)"
        guard let line else {
            throw ConsoleProblem(
                404, "entry \(sequence) is not kept here; on a node that is stopped, or a copy of its folder: \(rest)")
        }
        var room = Self.jsonBytes
        var mutations: [String] = []
        var isCut = entry == nil
        for mutation in entry?.mutations ?? [] {
            let json = BoundedJSON(mutation, limit: max(16, room))
            mutations.append(json.text)
            room -= json.text.utf8.count
            guard room > 0, !json.isCut else {
                isCut = true
                break
            }
        }
        // Where the state before it is kept no longer, there is no difference to show.
        let difference = sequence > 0 ? try? self.difference(from: sequence - 1, to: sequence) : nil
        return EntryAnswer(line: line, mutations: mutations, isCut: isCut, difference: difference, rest: rest)
    }

    func state(at sequence: UInt64?) throws -> StateAnswer {
        let snapshot = try snapshot(at: sequence)
        let json = BoundedJSON(snapshot.state, limit: Self.jsonBytes)
        return StateAnswer(
            epoch: snapshot.place.epoch.rawValue, sequence: snapshot.place.sequence.rawValue,
            time: snapshot.time.rawValue, json: json.text, cuts: json.cuts, rest: rest(snapshot.place))
    }

    func difference(from: UInt64, to: UInt64) throws -> DifferenceAnswer {
        let (old, new) = (try snapshot(at: from), try snapshot(at: to))
        let changes = StateChanges(from: old.state, to: new.state, limit: 200, mostParts: Self.mostParts)
        return DifferenceAnswer(
            from: from, to: to,
            changes: changes.changes.map { .init(path: $0.path, before: $0.before, after: $0.after) },
            omitted: changes.omitted, isTooLarge: changes.isTooLarge, rest: rest(new.place))
    }

    func values(at path: StatePath, after: UInt64) -> [ValuePoint] {
        var snapshots = contents.withLock { $0.history }?.snapshots ?? []
        if store.hasState, case let newest = store.snapshot,
            snapshots.last.map({ SameLog.gap(from: $0.place, to: newest.place) ?? 0 > 0 }) ?? true
        {
            snapshots.append(newest)
        }
        return snapshots.filter { $0.place.sequence.rawValue > after }.map {
            ValuePoint(
                sequence: $0.place.sequence.rawValue, time: $0.time.rawValue, value: path.number(in: $0.state))
        }
    }

    /// The most bytes of JSON of a state, or of the mutations of an entry.
    private static var jsonBytes: Int { 256 << 10 }
    /// The most places of a state that are compared: less than a second.
    private static var mostParts: Int { 100_000 }

    private func snapshot(at sequence: UInt64?) throws -> Snapshot<R.State> {
        guard let sequence else {
            guard store.hasState else {
                throw ConsoleProblem(404, "this node has no state of the cluster yet: does its primary run?")
            }
            return store.snapshot
        }
        guard let history = contents.withLock({ $0.history }) else {
            throw ConsoleProblem(503, "no state is kept yet: ask again in a second")
        }
        return try history.state(at: SequenceNumber(rawValue: sequence))
    }

    private func rest(_ place: Place) -> String {
        "lockstep journal state-at \(place.sequence) --data DATA --store \(store.name)"
    }
}

/// What places tell of whether they are of one log: one that a volatile primary has begun anew counts from 1 again.
package enum SameLog {
    /// How many sequence numbers a later state is ahead of an earlier one; nil if they may be of two logs.
    ///
    /// Places of one epoch are of one log, since an epoch is one reign (PROTOCOL, R-5). Of two epochs nobody can tell
    /// who has not seen what lies between.
    package static func gap(from old: Place, to new: Place) -> UInt64? {
        guard old.epoch == new.epoch, old.sequence <= new.sequence else { return nil }
        return new.sequence.rawValue - old.sequence.rawValue
    }

    /// Whether an entry can be the reactor's next one after a place.
    ///
    /// Epochs never fall along a log, and the first entry of each is the node's own (PROTOCOL, R-5). So the reactor has
    /// none with the very next number in another epoch.
    package static func mayFollow(_ next: Place, after last: Place) -> Bool {
        next.sequence > (next.epoch == last.epoch ? last.sequence : last.sequence.next) && next.epoch >= last.epoch
    }
}

/// How many commits a follower does in a second.
package struct Pace {
    package static let most = 500
    private var begin: ContinuousClock.Instant
    private var count = 0

    package init(now: ContinuousClock.Instant) { begin = now }

    /// Counts a commit: how long to rest now that the second's share is done; nil if it is not.
    package mutating func rest(now: ContinuousClock.Instant) -> Duration? {
        count += 1
        if now - begin >= .seconds(1) { (begin, count) = (now, 1) }
        guard count >= Self.most else { return nil }
        let rest = begin + .seconds(1) - now
        (begin, count) = (begin + .seconds(1), 0)
        return max(rest, .zero)
    }
}

extension UInt64 {
    /// The difference, or 0 if it is below.
    func subtractingWithoutWrap(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}

/// One search for an order of the operations of one object.
///
/// The invocations and returns of the operations that returned stand in a doubly linked list, by time. The search
/// places an operation whose invocation stands before the first return, takes both its events out of the list, and
/// begins at the front again; at a return it can go no further and takes the last placed operation back. A place is the
/// set of placed operations with the state; one that was visited is not entered again.
///
/// Two kinds of operations are treated apart, without losing an order:
/// - A read or a rejection that fits is placed at once and for good: it changes nothing, so for every order with it
///   later there is one with it now.
/// - An operation that never returned is tried only when no other can be placed, and then only if it changes the state.
///   Of several equal ones the first is taken first. Unless it is known to be in the log it may be left out.
struct LinearizabilitySearch<Model: SequentialModel> {
    private typealias Call = Operation<Model.Input, Model.Output>

    private let model: Model
    private let stepLimit: Int
    /// Operations that returned, by invocation.
    private let answered: [Call]
    /// Which of them change nothing.
    private let isIdle: [Bool]
    /// Those that did not, by invocation; without the reads that nobody saw answered.
    private let open: [Call]
    /// The open operation with the same input before each one.
    private let twin: [Int?]
    /// The list: nodes 2i and 2i + 1 are invocation and return of answered operation i, the last node is its head.
    private var next: [Int]
    private var previous: [Int]
    private let head: Int

    private var state: Model.State
    private var placedAnswered: PlacedSet
    private var placedOpen: PlacedSet
    private var answeredLeft: Int
    /// The open operations that the log has, and that have no place yet.
    private var orderedLeft: Int
    private var stack: [Frame] = []
    private var visited: Set<Place> = []
    private var steps = 0
    private var best: LinearizabilityEvidence<Model>?
    private var leftAtBest = Int.max

    private struct Place: Hashable {
        var answered: PlacedSet.Key
        var open: PlacedSet.Key
        var state: Model.State
    }

    /// What makes open operations equal.
    private struct Kind: Hashable {
        var input: Model.Input
        var isOrdered: Bool
    }

    /// A placed operation, and the state before it.
    private struct Frame {
        var placed: Placed
        var state: Model.State
    }

    private enum Placed {
        case idle(Int)
        case answered(Int)
        /// The time is that of the return at which it was tried.
        case open(Int, before: Int64)
    }

    init(model: Model, operations: [Operation<Model.Input, Model.Output>], stepLimit: Int) {
        self.model = model
        self.stepLimit = stepLimit
        let byInvocation = operations.indices
            .sorted { (operations[$0].invoked, $0) < (operations[$1].invoked, $1) }.map { operations[$0] }
        answered = byInvocation.filter { $0.returned != nil }
        isIdle = answered.map { call in call.output.map { model.hasNoEffect(call.input, $0) } ?? false }
        open = byInvocation.filter { $0.returned == nil && ($0.output != nil || !model.isRead($0.input)) }
        twin = Self.twins(of: open)
        head = 2 * answered.count
        next = Array(repeating: 0, count: head + 1)
        previous = next
        state = model.initial
        placedAnswered = PlacedSet(count: answered.count)
        placedOpen = PlacedSet(count: open.count)
        answeredLeft = answered.count
        orderedLeft = open.count { $0.isOrdered }
        var last = head
        for node in Self.events(of: answered) {
            next[last] = node
            previous[node] = last
            last = node
        }
        next[last] = head
        previous[head] = last
    }

    /// The list's nodes by time; at one time invocations come first, so that operations that touch are concurrent.
    private static func events(of answered: [Call]) -> [Int] {
        let times = answered.flatMap { [$0.invoked, $0.returned ?? .max] }
        return times.indices.sorted { (times[$0], $0 & 1, $0) < (times[$1], $1 & 1, $1) }
    }

    private static func twins(of open: [Call]) -> [Int?] {
        var latest: [Kind: Int] = [:]
        return open.indices.map { index -> Int? in
            // What the log answered is not comparable by hash; such operations are tried one by one.
            guard open[index].output == nil else { return nil }
            return latest.updateValue(index, forKey: Kind(input: open[index].input, isOrdered: open[index].isOrdered))
        }
    }

    // MARK: The search

    mutating func run() -> LinearizabilityVerdict<Model> {
        var node = next[head]
        while answeredLeft > 0 || orderedLeft > 0 {
            guard steps <= stepLimit else { return .undecided(steps: steps) }
            if node != head, node & 1 == 0 {
                node = placeAnswered(node / 2) ? next[head] : next[node]
            } else if placeOpen(from: 0, before: node == head ? .max : answered[node / 2].returned ?? .max) {
                node = next[head]
            } else {
                noteEvidence()
                guard let resumed = takeBack() else { return .notLinearizable(evidence) }
                node = resumed
            }
        }
        return .linearizable(steps: steps)
    }

    private mutating func placeAnswered(_ index: Int) -> Bool {
        steps += 1
        guard let after = model.step(state, answered[index].input, answered[index].output) else { return false }
        placedAnswered.insert(index)
        guard isIdle[index] || isNew(after) else {
            placedAnswered.remove(index)
            return false
        }
        stack.append(Frame(placed: isIdle[index] ? .idle(index) : .answered(index), state: state))
        state = after
        answeredLeft -= 1
        unlink(2 * index)
        unlink(2 * index + 1)
        return true
    }

    /// Places the first open operation from `first` on that was invoked before a return and leads somewhere new.
    private mutating func placeOpen(from first: Int, before limit: Int64) -> Bool {
        for index in open.indices[first...] {
            let call = open[index]
            guard call.invoked <= limit else { return false }
            guard !placedOpen.contains(index), twin[index].map(placedOpen.contains) ?? true else { continue }
            steps += 1
            guard let after = model.step(state, call.input, call.output) else { continue }
            guard call.isOrdered || after != state else { continue }
            placedOpen.insert(index)
            guard isNew(after) else {
                placedOpen.remove(index)
                continue
            }
            stack.append(Frame(placed: .open(index, before: limit), state: state))
            state = after
            if call.isOrdered { orderedLeft -= 1 }
            return true
        }
        return false
    }

    /// Takes operations back until there is another choice, and returns where to go on.
    private mutating func takeBack() -> Int? {
        while let frame = stack.popLast() {
            state = frame.state
            switch frame.placed {
            case .idle(let index):
                putBack(index)
            case .answered(let index):
                putBack(index)
                return next[2 * index]
            case .open(let index, let limit):
                placedOpen.remove(index)
                if open[index].isOrdered { orderedLeft += 1 }
                if placeOpen(from: index + 1, before: limit) { return next[head] }
            }
        }
        return nil
    }

    private mutating func isNew(_ after: Model.State) -> Bool {
        visited.insert(Place(answered: placedAnswered.key, open: placedOpen.key, state: after)).inserted
    }

    // MARK: The list

    private mutating func unlink(_ node: Int) {
        next[previous[node]] = next[node]
        previous[next[node]] = previous[node]
    }

    private mutating func putBack(_ index: Int) {
        // In the reverse of the order in which they were taken out, each finds its neighbours as it left them.
        for node in [2 * index + 1, 2 * index] {
            next[previous[node]] = node
            previous[next[node]] = node
        }
        placedAnswered.remove(index)
        answeredLeft += 1
    }

    // MARK: Evidence

    private var evidence: LinearizabilityEvidence<Model> {
        best
            ?? LinearizabilityEvidence(
                placed: 0, returned: answered.count, ending: [], state: state, stuck: [], unplaced: [])
    }

    private mutating func noteEvidence() {
        let placed = answered.count - answeredLeft
        guard let best else { return keepEvidence(placed) }
        if placed > best.placed || placed == best.placed && orderedLeft < leftAtBest { keepEvidence(placed) }
    }

    private mutating func keepEvidence(_ placed: Int) {
        leftAtBest = orderedLeft
        let longest = LinearizabilityEvidence<Model>.longest
        let ending = stack.suffix(longest).map { frame in
            switch frame.placed {
            case .idle(let index), .answered(let index): answered[index]
            case .open(let index, _): open[index]
            }
        }
        var stuck: [Call] = []
        var node = next[head]
        while node != head, node & 1 == 0, stuck.count < longest {
            stuck.append(answered[node / 2])
            node = next[node]
        }
        let unplaced = open.indices.filter { open[$0].isOrdered && !placedOpen.contains($0) }.prefix(longest)
        best = LinearizabilityEvidence(
            placed: placed, returned: answered.count, ending: ending, state: state, stuck: stuck,
            unplaced: unplaced.map { open[$0] })
    }
}

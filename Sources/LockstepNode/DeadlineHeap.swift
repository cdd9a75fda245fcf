package import LockstepCore

/// Deadlines of many waiting callers, earliest first, without a task or a timer each.
///
/// Deadlines of callers that were served stay until they are due or until they are most of the heap: the owner says
/// which are of no use any more. Callers that have the same time limit arrive in the order of their deadlines, so adding
/// one usually costs a comparison.
package struct DeadlineHeap<Element> {
    private var entries: [(deadline: Tick, element: Element)] = []
    /// When ``entries`` was last cleared of what is of no use, how many were left.
    private var countAfterSweep = 0

    package init() {}

    package var count: Int { entries.count }

    /// The earliest deadline, `.never` without one.
    package var next: Tick { entries.first?.deadline ?? .never }

    /// Adds a deadline; if the heap has doubled since it was last swept, those that `isUseless` says are dropped first.
    package mutating func insert(_ element: Element, at deadline: Tick, isUseless: (Element) -> Bool) {
        if entries.count >= 2 * countAfterSweep + 1_024 {
            entries.removeAll { isUseless($0.element) }
            // A sorted array is a heap.
            entries.sort { $0.deadline < $1.deadline }
            countAfterSweep = entries.count
        }
        entries.append((deadline, element))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].deadline < entries[parent].deadline else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the earliest out if it is due.
    package mutating func popDue(_ now: Tick) -> Element? {
        guard let first = entries.first, first.deadline <= now else { return nil }
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1].deadline < entries[child].deadline { child += 1 }
            guard entries[child].deadline < entries[parent].deadline else { break }
            entries.swapAt(child, parent)
            parent = child
        }
        return first.element
    }
}

internal import HeapModule
package import LockstepCore

/// Deadlines of many waiting callers, earliest first, without a task or a timer each.
///
/// Deadlines of callers that were served stay until they are due or until they are most of the heap: the owner says
/// which are no longer of use.
package struct DeadlineHeap<Element> {
    private struct Entry: Comparable {
        let deadline: Tick
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool { left.deadline < right.deadline }
        static func == (left: Entry, right: Entry) -> Bool { left.deadline == right.deadline }
    }

    private var entries = Heap<Entry>()
    /// When ``entries`` was last cleared of what is of no use, how many were left.
    private var countAfterSweep = 0

    package init() {}

    package var count: Int { entries.count }

    /// The earliest deadline, `.never` without one.
    package var next: Tick { entries.min?.deadline ?? .never }

    /// Adds a deadline; if the heap has doubled since it was last swept, those that `isUseless` says are dropped first.
    package mutating func insert(_ element: Element, at deadline: Tick, isUseless: (Element) -> Bool) {
        if entries.count >= 2 * countAfterSweep + 1_024 {
            entries = Heap(entries.unordered.filter { !isUseless($0.element) })
            countAfterSweep = entries.count
        }
        entries.insert(Entry(deadline: deadline, element: element))
    }

    /// Takes the earliest out if it is due.
    package mutating func popDue(_ now: Tick) -> Element? {
        guard next <= now else { return nil }
        return entries.popMin()?.element
    }
}

internal import DequeModule
internal import HeapModule
package import LockstepCore

/// Deadlines of many waiting callers, earliest first, without a task or a timer each.
///
/// Callers that have the same time limit come in the order of their deadlines, so adding one usually costs a comparison:
/// those wait in a line, the others in a heap. Deadlines of callers that were served stay until they are due or until
/// they are most of all: the owner says which are of no use any more.
package struct DeadlineHeap<Element> {
    private struct Entry: Comparable {
        let deadline: Tick
        let element: Element

        static func < (left: Entry, right: Entry) -> Bool { left.deadline < right.deadline }
        static func == (left: Entry, right: Entry) -> Bool { left.deadline == right.deadline }
    }

    /// In the order of their deadlines.
    private var inOrder: Deque<Entry> = []
    /// Those that came after one with a later deadline.
    private var others = Heap<Entry>()
    /// When these were last cleared of what is of no use, how many were left.
    private var countAfterSweep = 0

    package init() {}

    package var count: Int { inOrder.count + others.count }

    /// The earliest deadline, `.never` without one.
    package var next: Tick { min(inOrder.first?.deadline ?? .never, others.min?.deadline ?? .never) }

    /// Adds a deadline; if there are twice as many as after the last sweep, those that `isUseless` says are dropped first.
    package mutating func insert(_ element: Element, at deadline: Tick, isUseless: (Element) -> Bool) {
        if count >= 2 * countAfterSweep + 1_024 {
            inOrder.removeAll { isUseless($0.element) }
            others = Heap(others.unordered.filter { !isUseless($0.element) })
            countAfterSweep = count
        }
        let entry = Entry(deadline: deadline, element: element)
        if let last = inOrder.last, deadline < last.deadline {
            others.insert(entry)
        } else {
            inOrder.append(entry)
        }
    }

    /// Takes the earliest out if it is due.
    package mutating func popDue(_ now: Tick) -> Element? {
        guard next <= now else { return nil }
        if let first = inOrder.first, first.deadline == next { return inOrder.removeFirst().element }
        return others.popMin()?.element
    }
}

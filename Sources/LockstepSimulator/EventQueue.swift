import HeapModule
import LockstepCore

/// What is going to happen in a simulated cluster.
enum Event {
    /// A process gets its turn, if it is still in that life.
    case turn(SimulatedProcess, boot: Int)
    /// A frame comes to the end of its way.
    case arrival(Flight)
    /// A connection attempt ends.
    case connectionAttempt(Link)
    /// Something that a process had done beside its turns is finished.
    case mail(SimulatedProcess, boot: Int, Mail)
    /// A caller issues its next operation.
    case call(Caller, boot: Int)
    /// A fault begins, or ends.
    case fault(FaultEvent)
    /// A process that was down starts.
    case start(SimulatedProcess, boot: Int)
    /// The operator looks at what the nodes report.
    case operatorLooks(OperatorDesk)
    /// Processes are due to stop, whatever they do then.
    case stopsAreDue
    /// Machines take their usual ways from now on.
    case usualWays
    /// Everything is healed since a while.
    case calm
    /// The checkers look at what waits.
    case look
}

/// Events in the order of their time; of equal times the one that was added first comes first.
struct EventQueue<Event> {
    private var heap = Heap<Item>()
    private var added: UInt64 = 0

    private struct Item: Comparable {
        var time: Int64
        var order: UInt64
        var event: Event

        static func == (left: Item, right: Item) -> Bool { left.order == right.order }
        static func < (left: Item, right: Item) -> Bool { (left.time, left.order) < (right.time, right.order) }
    }

    var nextTime: Int64? { heap.min?.time }
    var count: Int { heap.count }

    mutating func add(_ event: Event, at time: Int64) {
        added += 1
        heap.insert(Item(time: time, order: added, event: event))
    }

    mutating func pop() -> (time: Int64, event: Event)? {
        heap.popMin().map { ($0.time, $0.event) }
    }

    /// What was to happen at one of these times happens at `time`, in the order of before.
    mutating func bring(from times: Set<Int64>, to time: Int64) {
        let waiting = heap.unordered.filter { times.contains($0.time) }.sorted()
        guard !waiting.isEmpty else { return }
        heap = Heap(heap.unordered.filter { !times.contains($0.time) })
        for item in waiting { add(item.event, at: time) }
    }
}

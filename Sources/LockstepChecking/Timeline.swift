/// Values that came at times, folded: what all values before a time amount to.
///
/// Making it costs a sort, each question a binary search.
struct Timeline<Value> {
    private let times: [Int64]
    private let folded: [Value]

    /// Folds the values in the order of their times; values of one time in the order given.
    init(_ events: [(time: Int64, value: Value)], fold: (Value, Value) -> Value) {
        let order = events.indices.sorted { (events[$0].time, $0) < (events[$1].time, $1) }
        times = order.map { events[$0].time }
        var folded: [Value] = []
        for index in order {
            folded.append(folded.last.map { fold($0, events[index].value) } ?? events[index].value)
        }
        self.folded = folded
    }

    /// What came before a time; `nil` if nothing did.
    func before(_ time: Int64) -> Value? { value(count: times.partitionPoint { $0 < time }) }

    /// What came before a time or at it; `nil` if nothing did.
    func through(_ time: Int64) -> Value? { value(count: times.partitionPoint { $0 <= time }) }

    private func value(count: Int) -> Value? { count == 0 ? nil : folded[count - 1] }
}

extension [Int64] {
    /// How many elements of a sorted array are in its first part.
    fileprivate func partitionPoint(_ isInFirstPart: (Int64) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if isInFirstPart(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

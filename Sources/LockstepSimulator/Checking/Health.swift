import LockstepCore

/// Since when nothing has disturbed a process, or the way between two: what a deadline is measured from.
///
/// Times are virtual nanoseconds. What lasts, as a pause, counts until its end.
package struct Health {
    private let count: Int
    /// The host of each process; those of one host are disturbed together.
    private let hosts: [Int]
    private var processes: [Int64]
    /// Both directions of each pair, at `lower * count + higher`.
    private var pairs: [Int64]
    /// When a node was last seen in a state in which it need not do what it usually does.
    private var unready: [Int64]

    /// Of processes that each have a host of their own.
    package init(processes count: Int) { self.init(hosts: Array(0..<count)) }

    /// Of processes on these hosts; a host has the number of its first process.
    package init(hosts: [Int]) {
        let count = hosts.count
        self.count = count
        self.hosts = hosts
        processes = Array(repeating: 0, count: count)
        pairs = Array(repeating: 0, count: count * count)
        unready = Array(repeating: 0, count: count)
    }

    /// A process was stopped, started, paused, or its disk or clock was disturbed, until `time`.
    package mutating func disturbed(_ process: Int, until time: Int64) {
        processes[hosts[process]] = max(processes[hosts[process]], time)
    }

    /// A frame between the two was lost, late, doubled or damaged, or a connection broke.
    package mutating func disturbed(_ one: Int, _ other: Int, at time: Int64) {
        let index = index(one, other)
        pairs[index] = max(pairs[index], time)
    }

    /// The way between the two is cut, until ``joined(_:_:at:)``.
    package mutating func cut(_ one: Int, _ other: Int) { pairs[index(one, other)] = .max }

    /// Both directions between the two are open again.
    package mutating func joined(_ one: Int, _ other: Int, at time: Int64) { pairs[index(one, other)] = time }

    /// A node is in a state in which it need not do what it usually does.
    package mutating func isUnready(_ process: Int, at time: Int64) { unready[process] = time }

    /// All faults have ended.
    package mutating func healed(at time: Int64) {
        for process in processes.indices { processes[process] = time }
    }

    /// Since when the process has been healthy.
    package func since(_ process: Int) -> Int64 { processes[hosts[process]] }

    /// Since when both processes and the way between them have been healthy.
    package func since(_ one: Int, _ other: Int) -> Int64 {
        max(max(since(one), since(other)), hosts[one] == hosts[other] ? 0 : pairs[index(one, other)])
    }

    /// The same, and since when the second, a node, has been ready.
    package func sinceReady(_ one: Int, _ node: Int) -> Int64 { max(since(one, node), unready[node]) }

    private func index(_ one: Int, _ other: Int) -> Int {
        let (one, other) = (hosts[one], hosts[other])
        return min(one, other) * count + max(one, other)
    }
}

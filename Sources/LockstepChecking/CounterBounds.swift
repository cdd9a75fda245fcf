/// Checks counters that are only added to and read, without looking for an order: each value that is seen must lie
/// between what had certainly happened and what might have.
///
/// The least possible value is the sum of the positive amounts whose additions had returned before the observation was
/// invoked, and of the negative ones that were invoked before it returned; the greatest one likewise with the signs
/// exchanged. Rejected additions count nothing. It finds less than ``LinearizabilityChecker``, but costs O(n log n)
/// with any number of unknown outcomes.
package struct CounterBounds: Sendable {
    /// The most findings that are returned.
    package var findingLimit: Int

    /// A checked operation.
    package typealias Call = Operation<CounterCall, CounterOutput>

    /// Makes a checker.
    package init(findingLimit: Int = 16) { self.findingLimit = findingLimit }

    /// Checks all values that reads and additions returned, and the last values.
    ///
    /// Keys that are also set, reset or compared are left out. ``CheckResult/checked`` counts the values that were
    /// checked.
    ///
    /// - Parameters:
    ///   - operations: the operations in any order; reads must be linearizable.
    ///   - final: counters' values after the last operation; a key that is not there is not checked.
    ///   - isResolved: whether all unknown outcomes were resolved from the log: then an operation without place and
    ///     output never took effect, one with a place did, unless its output says that it was rejected, and the last
    ///     value is exact.
    /// - Returns: one finding for each value that cannot be; nothing is ever left undecided.
    package func check(
        _ operations: [Call], final: [String: Int64] = [:], isResolved: Bool = false
    ) -> CheckResult {
        var result = CheckResult()
        for indices in split(operations, by: \.input.key) {
            let key = Key(operations, indices)
            guard key.isAddedToOnly else { continue }
            for index in indices {
                guard let finding = key.finding(operations[index], index, &result.checked) else { continue }
                result.findings.append(finding)
            }
            guard let value = final[operations[indices[0]].input.key] else { continue }
            result.checked += 1
            let range = Key.finalRange(indices.map { operations[$0] }, isResolved)
            if !range.contains(Int128(value)) {
                let detail = "\(operations[indices[0]].input.key) ends at \(value), outside \(range)"
                result.findings.append(Finding(.outOfRange, [], detail))
            }
        }
        result.findings = Array(result.findings.prefix(findingLimit))
        return result
    }
}

/// One key's additions, by the times of their invocations and returns.
private struct Key {
    /// Positive and negative amounts apart, and the additions.
    private struct Sum {
        var positive: Int128 = 0
        var negative: Int128 = 0
        var count = 0

        init(_ amount: Int128) {
            positive = max(amount, 0)
            negative = min(amount, 0)
            count = 1
        }

        static func + (left: Sum, right: Sum) -> Sum {
            var sum = left
            sum.positive += right.positive
            sum.negative += right.negative
            sum.count += right.count
            return sum
        }
    }

    let isAddedToOnly: Bool
    private let attempted: Timeline<Sum>
    private let acknowledged: Timeline<Sum>

    init(_ operations: [CounterBounds.Call], _ indices: [Int]) {
        var attempted: [(time: Int64, value: Sum)] = []
        var acknowledged = attempted
        var isAddedToOnly = true
        for call in indices.map({ operations[$0] }) {
            if case .add(let amount) = call.input.action {
                guard call.output != .rejected else { continue }
                attempted.append((call.invoked, Sum(Int128(amount))))
                if let returned = call.returned { acknowledged.append((returned, Sum(Int128(amount)))) }
            } else if call.input.action != .read {
                isAddedToOnly = false
            }
        }
        self.attempted = Timeline(attempted, fold: +)
        self.acknowledged = Timeline(acknowledged, fold: +)
        self.isAddedToOnly = isAddedToOnly
    }

    /// Whether the value that an operation returned is out of range.
    func finding(_ call: CounterBounds.Call, _ index: Int, _ checked: inout Int) -> Finding? {
        guard let returned = call.returned, let output = call.output, output != .rejected else { return nil }
        checked += 1
        let before = acknowledged.before(call.invoked)
        let until = attempted.through(returned)
        // What an addition returns contains its own amount, whatever else it contains.
        var own = Sum(0)
        if case .add(let amount) = call.input.action { own = Sum(Int128(amount)) }
        let lowest = (before?.positive ?? 0) + own.positive + (until?.negative ?? 0)
        let highest = (until?.positive ?? 0) + own.negative + (before?.negative ?? 0)
        switch output {
        case .value(let value) where (lowest...highest).contains(Int128(value)):
            return nil
        case .absent where before == nil && call.input.action == .read:
            return nil
        case .value, .absent, .rejected:
            return Finding(.outOfRange, [index], "\(call), possible are \(lowest) to \(highest)")
        }
    }

    /// What the counter can be in the end.
    static func finalRange(_ calls: [CounterBounds.Call], _ isResolved: Bool) -> ClosedRange<Int128> {
        var lowest: Int128 = 0
        var highest: Int128 = 0
        for call in calls {
            guard case .add(let amount) = call.input.action, call.output != .rejected else { continue }
            if call.isOrdered && (isResolved || call.output != nil) {
                lowest += Int128(amount)
                highest += Int128(amount)
            } else if !isResolved {
                lowest += Int128(min(amount, 0))
                highest += Int128(max(amount, 0))
            }
        }
        return lowest...highest
    }
}

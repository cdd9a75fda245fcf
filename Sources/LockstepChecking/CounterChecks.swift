/// The checks of counters' histories, as callers of other modules want them.
///
/// The checkers are generic; here, beside them, the compiler makes their code for counters, which takes a third of the
/// time of the general one.
package enum CounterChecks {
    /// One call of a counters' history.
    package typealias Call = Operation<CounterCall, CounterOutput>

    /// Searches for an order of the calls of each counter; see ``LinearizabilityChecker/check(_:splitBy:)``.
    package static func linearizability(
        _ calls: [Call], bounds: [String: ClosedRange<Int64>] = [:], stepLimit: Int
    ) -> LinearizabilityVerdict<CounterModel> {
        LinearizabilityChecker(CounterModel(bounds: bounds), stepLimit: stepLimit).check(calls) { $0.key }
    }

    /// Compares the calls with the places that their answers carry; see ``PositionOrder/check(_:splitBy:guarantee:)``.
    package static func positions(
        _ calls: [Call], bounds: [String: ClosedRange<Int64>] = [:], guarantee: (Call) -> ReadGuarantee
    ) -> CheckResult {
        PositionOrder(CounterModel(bounds: bounds)).check(calls, splitBy: { $0.key }, guarantee: guarantee)
    }
}

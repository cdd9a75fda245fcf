/// Decides whether a history is linearizable: whether every operation can take effect at one moment between its
/// invocation and its return, so that the outputs are those of a sequential model.
///
/// The method is the search of Wing and Gong (1993) with Lowe's memory of visited places (2017), where histories are
/// split by key (Herlihy and Wing's locality). An operation without a known outcome may take effect at any time after
/// its invocation, or never. Operations that touch at the same time count as concurrent.
///
/// Cost: a history that passes takes some ten steps for each operation while up to about ten of a key run at a time; in
/// the worst case it is exponential in that number and in the number of unknown outcomes that differ. A step takes
/// about a microsecond in a release build and keeps at most about 150 bytes until its key is decided.
package struct LinearizabilityChecker<Model: SequentialModel>: Sendable {
    /// What the operations should do.
    package var model: Model
    /// The most steps, calls of the model, for each key.
    package var stepLimit: Int

    /// Makes a checker; the default limit is reached after seconds in a release build.
    package init(_ model: Model, stepLimit: Int = 10_000_000) {
        self.model = model
        self.stepLimit = stepLimit
    }

    /// Checks the operations of one object; their order in the array has no meaning.
    package func check(_ operations: [Operation<Model.Input, Model.Output>]) -> LinearizabilityVerdict<Model> {
        var search = LinearizabilitySearch(model: model, operations: operations, stepLimit: stepLimit)
        return search.run()
    }

    /// Checks the operations of several objects, each object on its own.
    ///
    /// The first key that fails is reported; keys come in the order of their first operations. If none fails and one
    /// could not be decided, the result is undecided.
    package func check<Key: Hashable>(
        _ operations: [Operation<Model.Input, Model.Output>], splitBy key: (Model.Input) -> Key
    ) -> LinearizabilityVerdict<Model> {
        var steps = 0
        var isUndecided = false
        for indices in split(operations, by: { key($0.input) }) {
            switch check(indices.map { operations[$0] }) {
            case .linearizable(let taken):
                steps += taken
            case .undecided(let taken):
                steps += taken
                isUndecided = true
            case .notLinearizable(let evidence):
                return .notLinearizable(evidence)
            }
        }
        return isUndecided ? .undecided(steps: steps) : .linearizable(steps: steps)
    }
}

/// The indices of elements with equal keys, in the order of the keys' first elements.
func split<Element, Key: Hashable>(_ elements: [Element], by key: (Element) -> Key) -> [[Int]] {
    var groups: [[Int]] = []
    var groupOf: [Key: Int] = [:]
    for (index, element) in elements.enumerated() {
        let group = groupOf[key(element), default: groups.count]
        if group == groups.count {
            groupOf[key(element)] = group
            groups.append([])
        }
        groups[group].append(index)
    }
    return groups
}

/// What became of a check.
package enum LinearizabilityVerdict<Model: SequentialModel>: Sendable {
    /// There is an order of the operations that explains all outputs; the number of steps is what it took to find it.
    case linearizable(steps: Int)
    /// There is none.
    case notLinearizable(LinearizabilityEvidence<Model>)
    /// The step limit was reached first.
    case undecided(steps: Int)
}

/// Where the longest order that a search could build came to its end.
package struct LinearizabilityEvidence<Model: SequentialModel>: Sendable, CustomStringConvertible {
    /// How many of the operations that returned have a place in that order, and how many there are.
    package var placed: Int
    /// The number of operations that returned.
    package var returned: Int
    /// The end of the order, at most ``longest`` operations, the last one last.
    package var ending: [Operation<Model.Input, Model.Output>]
    /// The state after it.
    package var state: Model.State
    /// The operations that ran then, at most ``longest``: none of them can be the next one.
    package var stuck: [Operation<Model.Input, Model.Output>]
    /// Those that never returned, are in the log, and have no place in that order, at most ``longest``.
    package var unplaced: [Operation<Model.Input, Model.Output>]

    /// The most operations in each part of the evidence.
    package static var longest: Int { 12 }

    /// Several lines: the end of the order, the state, and what cannot follow.
    package var description: String {
        let lines =
            ["\(placed) of \(returned) operations can be ordered; the last of them are"]
            + ending.map { "  \($0)" } + ["the state is then \(state), and none of these can be next"]
            + stuck.map { "  \($0)" }
        guard !unplaced.isEmpty else { return lines.joined(separator: "\n") }
        let open = ["these never returned, and the log has them"] + unplaced.map { "  \($0)" }
        return (lines + open).joined(separator: "\n")
    }
}

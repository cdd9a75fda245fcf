/// What a read promises to include.
package enum ReadGuarantee: Sendable {
    /// Everything that had returned to anybody when it was asked: a linearizable read.
    case everythingReturned
    /// Everything that had returned to the same client: a session read.
    case ownWrites
    /// Nothing: a local read. It shows the state at its place all the same.
    case nothing
}

/// Checks a history whose answers carry their places in the log, which is the order that has to explain them.
///
/// It looks for these defects:
/// - Two writes have one sequence number, or epochs do not grow with the sequence numbers (PROTOCOL, R-5 and R-6).
/// - The order of the log contradicts real time: a write that had returned comes after one that was invoked later, a
///   read misses what it promises, or shows a write that was invoked after it returned.
/// - A session's writes are not in the log once each, in the order of their numbers.
/// - An output is not what the model gives at that place.
///
/// If all reads promise ``ReadGuarantee/everythingReturned`` and every operation that returned has a place, a history
/// that passes is linearizable. The cost is O(n log n), but for keys that have writes without a place: their outputs
/// are left to a search between the fixed places, which can end undecided. Resolve such writes from the log where it is
/// at hand, see ``History/resolve(_:_:place:)``; a write that the log does not have is left out of the history.
package struct PositionOrder<Model: SequentialModel>: Sendable {
    /// What the operations should do.
    package var model: Model
    /// The most findings that are returned.
    package var findingLimit: Int
    /// The most steps of the search, for each key that needs one.
    package var stepLimit: Int

    /// A checked operation.
    package typealias Call = Operation<Model.Input, Model.Output>

    private typealias Mark = (place: LogPlace, index: Int)

    /// Makes a checker.
    package init(_ model: Model, findingLimit: Int = 16, stepLimit: Int = 1_000_000) {
        self.model = model
        self.findingLimit = findingLimit
        self.stepLimit = stepLimit
    }

    /// Checks all operations of a log, of all keys and clients; their order in the array has no meaning.
    ///
    /// The result's ``CheckResult/checked`` counts the outputs that were compared with the model.
    package func check<Key: Hashable>(
        _ operations: [Call], splitBy key: (Model.Input) -> Key,
        guarantee: (Call) -> ReadGuarantee = { _ in .everythingReturned }
    ) -> CheckResult {
        var result = CheckResult()
        result.findings += placeFindings(operations)
        result.findings += realTimeFindings(operations, guarantee)
        result.findings += sessionFindings(operations)
        for indices in split(operations, by: { key($0.input) }) {
            replay(operations, indices, into: &result)
        }
        result.findings = Array(result.findings.prefix(findingLimit))
        return result
    }

    // MARK: Places

    private func placeFindings(_ operations: [Call]) -> [Finding] {
        let marks = marks(operations).sorted {
            ($0.place.sequence, isRead(operations[$0.index]) ? 1 : 0, $0.place.epoch, $0.index)
                < ($1.place.sequence, isRead(operations[$1.index]) ? 1 : 0, $1.place.epoch, $1.index)
        }
        var findings: [Finding] = []
        var lastWrite: Mark?
        for (last, mark) in zip([nil] + marks.map(Optional.some), marks) {
            let isWrite = !isRead(operations[mark.index])
            if isWrite, let lastWrite, lastWrite.place.sequence == mark.place.sequence {
                findings.append(
                    Finding(.duplicatePlace, [mark.index, lastWrite.index], "\(mark.place) and \(lastWrite.place)"))
            } else if let last,
                mark.place.epoch < last.place.epoch
                    || (mark.place.sequence == last.place.sequence && mark.place.epoch != last.place.epoch)
            {
                findings.append(Finding(.epochFell, [mark.index, last.index], "\(last.place), then \(mark.place)"))
            }
            if isWrite { lastWrite = mark }
        }
        return findings
    }

    // MARK: Real time

    private func realTimeFindings(
        _ operations: [Call], _ guarantee: (Call) -> ReadGuarantee
    ) -> [Finding] {
        let writes = latest(operations) { !isRead($0) }
        let reads = latest(operations) { isRead($0) }
        let promisingReads = latest(operations) { isRead($0) && guarantee($0) == .everythingReturned }
        let clients = split(operations) { $0.client }
        var ownWrites: [Int: Timeline<Mark>] = [:]
        for indices in clients where indices.contains(where: { guarantee(operations[$0]) == .ownWrites }) {
            let own = indices.filter { !isRead(operations[$0]) }
            ownWrites[operations[indices[0]].client] = latest(operations, among: own) { _ in true }
        }
        var findings: [Finding] = []
        for mark in marks(operations) {
            let call = operations[mark.index]
            if !isRead(call) {
                for floor in [writes.before(call.invoked), reads.before(call.invoked)] {
                    guard let floor, floor.place >= mark.place else { continue }
                    findings.append(found(.reordered, mark, floor))
                }
                continue
            }
            let floors: [Mark?] =
                switch guarantee(call) {
                case .everythingReturned: [writes.before(call.invoked), promisingReads.before(call.invoked)]
                case .ownWrites: [ownWrites[call.client]?.before(call.invoked)]
                case .nothing: []
                }
            for case let floor? in floors where floor.place > mark.place {
                findings.append(found(.staleRead, mark, floor))
            }
        }
        return findings
    }

    private func found(_ kind: Finding.Kind, _ mark: Mark, _ floor: Mark) -> Finding {
        Finding(kind, [mark.index, floor.index], "at \(mark.place), after \(floor.place) had returned")
    }

    /// The highest place that had returned, by time.
    private func latest(
        _ operations: [Call], among indices: [Int]? = nil, where isWanted: (Call) -> Bool
    ) -> Timeline<Mark> {
        var events: [(time: Int64, value: Mark)] = []
        for index in indices ?? Array(operations.indices) where isWanted(operations[index]) {
            guard let returned = operations[index].returned, let place = operations[index].place else { continue }
            events.append((returned, (place, index)))
        }
        return Timeline(events) { $0.place >= $1.place ? $0 : $1 }
    }

    private func marks(_ operations: [Call]) -> [Mark] {
        operations.indices.compactMap { index in operations[index].place.map { ($0, index) } }
    }

    func isRead(_ call: Call) -> Bool { model.isRead(call.input) }

    // MARK: Sessions

    private func sessionFindings(_ operations: [Call]) -> [Finding] {
        let numbered = operations.indices.filter { operations[$0].number != nil && !isRead(operations[$0]) }
        var findings: [Finding] = []
        for session in split(numbered, by: { operations[$0].client }) {
            let order = session.map { numbered[$0] }
                .sorted { (operations[$0].number ?? 0, $0) < (operations[$1].number ?? 0, $1) }
            var highest: Mark?
            for (last, index) in zip([nil] + order.map(Optional.some), order) {
                let number = operations[index].number ?? 0
                if let last, let lastNumber = operations[last].number {
                    if number == lastNumber {
                        findings.append(Finding(.sessionRepeated, [index, last], "number \(number) twice"))
                    } else if number > lastNumber + 1 {
                        findings.append(Finding(.sessionGap, [index, last], "\(number) follows \(lastNumber)"))
                    }
                }
                guard let place = operations[index].place else { continue }
                if let highest, place <= highest.place {
                    let detail = "number \(number) at \(place), a number before it at \(highest.place)"
                    findings.append(Finding(.sessionReordered, [index, highest.index], detail))
                } else {
                    highest = (place, index)
                }
            }
        }
        return findings
    }
}

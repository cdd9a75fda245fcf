package import LockstepCore

// What a data node's journal is made to do: commit numbers, tails, cuts and promises (PROTOCOL, R-84, R-85).
extension StorageScript {
    package enum Arbitrated: Hashable, Sendable {
        /// Marks the journal as arbitrated.
        case mark
        /// Appends these batches, and says that the log is committed through the end of that one.
        case append([Int], committed: Int?)
        /// Stores the commit number alone.
        case commit(Int)
        /// Cuts the tail off at the step's head.
        case truncate
        /// Asks for a cut below what is committed, after that batch, which must be refused.
        case truncateCommitted(Int?)
        /// Promises an epoch, or withdraws the promise.
        case promise(UInt64?)
        /// Keeps a revision of the arbiter; number and epoch are the same.
        case remember(UInt64)
    }

    /// What an arbitrated journal must know after a step.
    package struct Known: Hashable, Sendable {
        /// The batch at whose end the log is committed; nil is the log's start.
        package var committed: Int?
        package var promised: UInt64?
        package var arbiter: UInt64 = 0
        /// The batches that were cut off, in the order of cutting.
        package var cut: [Int] = []

        /// What was said of the arbiter.
        package var memory: ArbiterMemory {
            ArbiterMemory(
                revision: Int64(arbiter), number: arbiter, epoch: Epoch(rawValue: arbiter),
                boot: BootID(rawValue: UInt128(arbiter)))
        }
    }

    mutating func drawArbitrated(steps count: Int) throws {
        var saved: Int?
        for action in [Action.create, .identify] { add(Step(action: action)) }
        try appendKnowing()
        add(Step(action: .arbitrated(.mark), head: head, known: Known(committed: head)))
        while steps.count < count {
            switch random.next(below: 100) {
            case 0..<44: try appendKnowing()
            case 44..<54: try save(&saved)
            case 54..<57: add(.note("note \(steps.count)"))
            case 57..<64: add(.reopen)
            case 64..<68: try replace(&saved)
            case 68..<78: try truncate()
            case 78..<81: truncateCommitted()
            case 81..<87: promise()
            case 87..<92: remember()
            case 92..<96: commit(random.next(below: 2) == 0 ? head : known?.committed)
            default: if random.next(below: 8) == 0, count > 100 { add(.settle) }
            }
        }
        // It takes a second, which scripts that are run thousands of times do not have.
        if count > 100 { add(.settle) }
        try truncate()
        add(.reopen)
        try appendKnowing()
    }

    /// Appends, with a commit number that may be behind, as that of a primary is whose standbys are.
    mutating func appendKnowing() throws {
        var added: [Int] = []
        var last = head
        for _ in 0...random.next(below: 4) {
            let link = try grow(last, opensEpoch: last == nil || random.next(below: 12) == 0)
            added.append(link)
            last = link
        }
        var committed = last
        for _ in 0..<random.next(below: 9) where committed != known?.committed {
            committed = committed.flatMap { links[$0].parent }
        }
        var then = known
        then?.committed = committed
        add(Step(action: .arbitrated(.append(added, committed: committed)), head: last, known: then))
    }

    /// Stores the commit number of a batch.
    mutating func commit(_ link: Int?) {
        guard var known, let link else { return }
        known.committed = link
        add(Step(action: .arbitrated(.commit(link)), head: head, known: known))
    }

    private mutating func truncate() throws {
        guard var known else { return }
        var end = head
        var cut: [Int] = []
        for _ in 0...random.next(below: 5) where end != known.committed {
            guard let link = end else { break }
            cut.insert(link, at: 0)
            end = links[link].parent
        }
        known.cut += cut
        add(Step(action: .arbitrated(.truncate), head: end, known: known))
        // Like a standby that gets the tail of another primary.
        if random.next(below: 3) > 0 {
            let link = try grow(end, opensEpoch: true)
            known.committed = end
            add(Step(action: .arbitrated(.append([link], committed: end)), head: link, known: known))
        }
    }

    private mutating func truncateCommitted() {
        guard let committed = known?.committed else { return }
        add(.arbitrated(.truncateCommitted(links[committed].parent)))
    }

    private mutating func promise() {
        guard var known else { return }
        known.promised = random.next(below: 3) == 0 ? nil : (known.promised ?? 0) + 1 + random.next(below: 5)
        add(Step(action: .arbitrated(.promise(known.promised)), head: head, known: known))
    }

    private mutating func remember() {
        guard var known else { return }
        known.arbiter += 1
        add(Step(action: .arbitrated(.remember(known.arbiter)), head: head, known: known))
    }
}

import LockstepCore

/// What log time brings, as one entry has it (PROTOCOL, R-65): written in order, and reduced as it is written.
///
/// One mutation may name all that is due, so a state whose first one does not fit is asked for less. What does not fit
/// even then is passed over, as what cannot be written is: it stays due, and those after it come.
struct DueMutations<R: Reactor> {
    private let time: LogTime
    private let reducing: ReduceContext
    private let coding: Coding<R.Mutation>
    private(set) var count = 0
    private(set) var written = ByteWriter()

    init(at time: LogTime, reducing: ReduceContext, coding: Coding<R.Mutation>) {
        self.time = time
        self.reducing = reducing
        self.coding = coding
    }

    /// Asks the state what is due and takes as much of it as an entry may have.
    mutating func take(from state: inout R.State) {
        for passesLarge in [false, true] {
            var limit = Limits.dueMutations
            while limit > 0, count == 0 {
                take(from: &state, limit: limit, passesLarge: passesLarge)
                limit /= 2
            }
        }
    }

    /// Takes nothing if the first that can be written does not fit and may not be passed over.
    private mutating func take(from state: inout R.State, limit: Int, passesLarge: Bool) {
        for mutation in R.mutationsDue(in: state, at: time, limit: limit).prefix(limit) {
            let start = written.count
            // It stays due, and is tried again every second; those after it and the node go on.
            guard write(mutation) else { continue }
            guard written.count <= Limits.actionBytes - 64 else {
                written.truncate(to: start)
                // What is written comes first; the next time this one is the first.
                guard count == 0, passesLarge else { return }
                continue
            }
            R.reduce(into: &state, mutation, reducing)
            count += 1
        }
    }

    /// Returns false, and has written nothing, if the mutation cannot be written or not be read back.
    private mutating func write(_ mutation: R.Mutation) -> Bool {
        let coding = coding
        let start = written.count
        do {
            try written.writeMeasured { try coding.encode(mutation, &$0) }
            // What cannot be read back would stop every replica.
            try withBytes(of: written.bytes) { bytes in
                var reader = ByteReader(offset: start, end: bytes.byteCount)
                _ = try coding.decodeChecked(bytes, try reader.readRange(from: bytes))
            }
            return true
        } catch {
            written.truncate(to: start)
            return false
        }
    }
}

import LockstepCore

// What callers ask for, and when.
extension Simulation {
    func scheduleCall(_ caller: Caller) {
        // All callers together issue what is asked for over three quarters of the time.
        let count = Int64(max(1, processes.count - 1))
        let mean = options.faultTime * 3 / 4 * count / Int64(max(1, options.operations))
        add(.call(caller, boot: caller.process.boot), after: random.between(1, max(2, 2 * mean)))
    }

    func issue(_ caller: Caller) {
        guard !isHealed, issued < options.operations, !caller.isClosed, caller.process.takesCalls else { return }
        let store = caller.process.store
        let burst = random.chance(0.03) ? Int(random.between(5, 40)) : 1
        for _ in 0..<burst where issued < options.operations {
            guard var call = store.workload.next(caller: caller.id, random: &random) else { break }
            if let client = caller.process as? ClientProcess, client.isReader, case .action = call {
                guard let read = readInstead(caller) else { break }
                call = read
            }
            issued += 1
            caller.call(call)
        }
        caller.process.wake(at: now)
        scheduleCall(caller)
    }

    private func readInstead(_ caller: Caller) -> Call? {
        for _ in 0..<64 {
            if case .read(let query, _)? = caller.process.store.workload.next(caller: caller.id, random: &random) {
                return .read(query, random.chance(0.5) ? .session : .local)
            }
        }
        return nil
    }

    /// A caller leaves in good order, and another comes.
    func churn(_ random: inout SplitMix64) {
        let clients = processes.compactMap { $0 as? ClientProcess }.filter { $0.isUp && !$0.isReader }
        guard !clients.isEmpty else { return }
        let client = random.pick(clients)
        fired(.sessionChurn, UInt64(client.id))
        if random.chance(0.5) { client.caller?.close() }
        client.wake(at: now)
        let leaves = random.between(0, 1_500) * Span.millisecond
        stop(client, after: leaves)
        add(.start(client, boot: client.boot), after: leaves + random.between(1, 500) * Span.millisecond)
    }
}

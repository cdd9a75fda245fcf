import LockstepCore

// Which processes a run has.
extension Simulation {
    /// The nodes, the clients and the operator's program, with the first store.
    func makeProcesses() {
        add(PrimaryProcess(id: processes.count, name: "primary", store: store, random: random.fork()))
        for number in 1...max(1, options.replicas) {
            let hasJournal =
                options.script?.replicasHaveJournals
                ?? (!options.isVolatile && (number == 1 || random.chance(0.6)))
            add(
                ReplicaProcess(
                    id: processes.count, name: "replica-\(number)", store: store, random: random.fork(),
                    hasJournal: hasJournal))
        }
        for number in 1...max(1, options.clients) {
            let isReader = options.script == nil && number > 2 && random.chance(0.3)
            let home =
                isReader || (options.script == nil && random.chance(0.2))
                ? Int(random.between(1, Int64(options.replicas))) : store.primary.id
            add(
                ClientProcess(
                    id: processes.count, name: "client-\(number)", store: store, random: random.fork(), home: home,
                    isReader: isReader))
        }
        add(
            RecoveryProcess(id: processes.count, name: "operator", store: store, random: random.fork()))
        if plan.isOn(.rogueClient) {
            add(RogueProcess(id: processes.count, name: "rogue", store: store, random: random.fork()))
        }
    }

    /// The nodes' further store, with clients of its own.
    func makeProcesses(of store: SimulatedStore) {
        let suffix = "/\(store.channel.rawValue + 1)"
        for node in processes {
            let name = node.name + suffix
            if node is PrimaryProcess {
                add(
                    PrimaryProcess(
                        id: processes.count, host: node.id, name: name, store: store, random: random.fork()))
            } else if let replica = node as? ReplicaProcess {
                add(
                    ReplicaProcess(
                        id: processes.count, host: node.id, name: name, store: store, random: random.fork(),
                        hasJournal: replica.hasJournal))
            } else if let client = node as? ClientProcess {
                add(
                    ClientProcess(
                        id: processes.count, name: name, store: store, random: random.fork(), home: client.home,
                        isReader: client.isReader))
            } else if node is RecoveryProcess {
                add(RecoveryProcess(id: processes.count, name: name, store: store, random: random.fork()))
            } else if node is RogueProcess {
                add(RogueProcess(id: processes.count, name: name, store: store, random: random.fork()))
            }
        }
    }
}

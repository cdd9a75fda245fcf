import LockstepCore

/// A process with nothing but a caller, connected to the primary, or, if it only reads, to a replica.
final class ClientProcess: SimulatedProcess, CallerHost {
    private(set) var caller: Caller?
    private var link: Link?
    /// The node that it is configured with.
    let home: Int
    /// Without a session it reads only.
    let isReader: Bool

    init(id: Int, name: String, store: SimulatedStore, random: SplitMix64, home: Int, isReader: Bool) {
        self.home = home
        self.isReader = isReader
        super.init(id: id, name: name, store: store, random: random)
    }

    override func begin() -> Bool {
        let configuration = ClientConfiguration(
            store: store.name, node: name, role: .client, client: ClientKey(rawValue: random.bits128()),
            boot: BootID(rawValue: random.bits128()), incarnation: Incarnation(rawValue: random.bits128()),
            cluster: random.chance(0.5) ? simulation.cluster : nil,
            endpoint: Endpoint(process: home, port: .ingress).text, timeToLive: simulation.timeToLive(&random),
            windowBytes: UInt32(random.between(1, 16)) * Limits.smallestWindowBytes, seed: random.next(),
            wantsSession: false, buggify: simulation.plan.isOn(.buggify) ? Buggify(seed: random.next()) : .off)
        let caller = Caller(id: simulation.nextCaller(), process: self, host: self, configuration: configuration)
        self.caller = caller
        simulation.add(caller)
        caller.start()
        for _ in 0..<simulation.options.watches { caller.beginWatch() }
        return true
    }

    override func end() {
        if let caller { simulation.coverage.noteFired(caller.machine.buggify.fired) }
        caller?.end()
        caller = nil
        link = nil
    }

    override func takeUsualWays() { caller?.machine.buggify.end() }

    override func handle(_ arrival: Arrival) {
        if case .mail(.cancelRun(let id)) = arrival { caller?.cancelRun(id) }
        guard case .link(let from, let frame) = arrival, from === link else { return }
        simulation.trace(id, .received, UInt64(frame.count > 5 ? frame[5] : 0), UInt64(from.id))
        caller?.received(frame)
    }

    override func finishTurn() { caller?.finishTurn() }
    override var nextDeadline: Tick { caller?.nextDeadline ?? .never }

    // MARK: - CallerHost

    func connect(to endpoint: String, for caller: Caller) {
        if let link { simulation.network.close(link) }
        link = Endpoint(endpoint).map { simulation.network.connect(self, to: $0) }
    }

    func send(_ frame: [UInt8], for caller: Caller) {
        guard let link else { return }
        simulation.trace(id, .sent, UInt64(frame.count > 5 ? frame[5] : 0), UInt64(link.id))
        simulation.network.send(frame, on: link)
    }

    func welcomed(_ welcome: Welcome, for caller: Caller) {}
    func answerLocally(_ record: Int, _ query: [UInt8], minimum: SequenceNumber) -> Bool { false }
}

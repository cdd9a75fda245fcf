import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer
import Logging
import ServiceLifecycle
import Synchronization
import ZeroMQ

/// `lockstep-lab bench-node`: a node as a case of the benchmark needs it, and "lockstep serve" has none.
///
/// It hosts one store, so that what is measured is that store's; the other cases run `lockstep serve` with all stores of
/// a folder.
struct BenchNodeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-node", abstract: "A node for \"lockstep-lab bench\".", shouldDisplay: false)

    @OptionGroup var place: NodePlace<LabCommand>
    @Flag(help: "Host counters whose types are plain Codable.")
    var plain = false
    @Option(help: "Take the whole state so many times a second.", transform: Within.whole(1...1_000_000))
    var observe: Int?

    func run() async throws {
        let identity = try NodeFolder(place.data).identity()
        let node = try Node(try place.configuration(identity, create: plain), logger: Program.quiet)
        var services: [any Service] = []
        if plain {
            _ = try node.store(PlainCounters(), named: PlainCounters.storeName)
        } else {
            for store in identity.stores where store == Hosted.counters {
                let counters = try node.store(Counters(), named: store)
                if let observe { services.append(Observer(store: counters, perSecond: observe)) }
            }
        }
        try await node.serve(beside: services, logger: Program.quiet)
    }
}

/// Takes the whole state at a steady rate and holds it until the next; prints how many it had when it ends.
private struct Observer: Service {
    let store: Store<Counters>
    let perSecond: Int

    func run() async throws {
        // It ends when the node is told to stop.
        let count = await cancelWhenGracefulShutdown { await observe() }
        Output.line("observed \(count)")
    }

    /// How many different states there were until the task was cancelled.
    private func observe() async -> Int {
        var places: Set<Place> = []
        var held = store.snapshot
        while !Task.isCancelled {
            places.insert(held.place)
            // Cancelled: the loop ends.
            try? await Task.sleep(for: .seconds(1) / perSecond)
            withExtendedLifetime(held) {}
            held = store.snapshot
        }
        return places.count
    }
}

/// `lockstep-lab bench-subscriber`: a plain socket that receives what a replica's does, and does nothing with it.
struct BenchSubscriberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench-subscriber", abstract: "A subscriber for \"lockstep-lab bench\".", shouldDisplay: false)

    @Argument(help: "The endpoint to subscribe at.")
    var endpoint: String

    /// Prints "ready" with the first message, and the bytes it had when it is told to stop.
    func run() throws {
        let isStopped = StopFlag()
        signal(SIGTERM, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        source.setEventHandler { isStopped.raise() }
        source.resume()
        let context = try Context()
        var socket = try Socket<Dealer>(in: context)
        try socket.connect(to: endpoint)
        let subscription = Subscription(channel: Channel(rawValue: 0)).bytes
        var renewal = ContinuousClock.now
        let poller = Poller<Bool>()
        poller.add(socket, as: true)
        var message = ZeroMQ.Message()
        var (messages, bytes) = (0, 0)
        while !isStopped.isRaised {
            if ContinuousClock.now >= renewal {
                _ = try socket.send(subscription)
                renewal = .now + .seconds(messages == 0 ? 0.2 : 1)
            }
            _ = try poller.wait(timeout: .milliseconds(100))
            while try socket.receive(into: &message) != nil {
                if messages == 0 { Output.line("ready") }
                messages += 1
                bytes += message.count
            }
        }
        Output.line("received \(messages) \(bytes)")
    }
}

/// A flag that one thread raises and others see.
final class StopFlag: Sendable {
    private let value = Atomic<Bool>(false)
    var isRaised: Bool { value.load(ordering: .relaxed) }
    func raise() { value.store(true, ordering: .relaxed) }
}

internal import Foundation
package import LockstepNode
package import Logging
internal import Metrics
package import ServiceLifecycle
internal import Synchronization

/// A node's HTTP address: metrics, health, and what routes a program adds.
///
///     NodeHTTP.bootstrapMetrics()
///     let node = try Node(configuration, logger: logger)
///     let askers = try NodeHTTP.services(for: node, address: "127.0.0.1:9100", logger: logger)
package enum NodeHTTP {
    private static let kept = Mutex<KeptMetrics?>(nil)

    /// What the process keeps.
    struct KeptMetrics: Sendable {
        let registry: PrometheusRegistry
        let process: ProcessMetrics
    }

    /// Makes the process keep its metrics, once; before the first ``Node`` is made.
    ///
    /// A metric that was made before is never shown. Called again it does nothing. The process must not have bootstrapped swift-metrics by itself, which may be done once.
    package static func bootstrapMetrics() {
        kept.withLock { kept in
            guard kept == nil else { return }
            let registry = PrometheusRegistry()
            MetricsSystem.bootstrap(registry)
            kept = KeptMetrics(registry: registry, process: ProcessMetrics(registry))
        }
    }

    /// What runs beside a node for its HTTP address.
    ///
    /// It asks the node's thread, so in a group of services it comes before the node, which then ends first: the thread
    /// answers nobody while it reads the journals, and who asks it cannot end meanwhile.
    ///
    /// - Parameters:
    ///   - node: What `/health` and the routes are about.
    ///   - address: `HOST:PORT`, with an IP address or `localhost`.
    ///   - allowsOtherHosts: Whether the address may be another than a loopback address.
    ///   - waitsForAddress: Whether an address that this host does not have yet is waited for.
    ///   - routes: What is answered beside `/metrics`, `/health/live` and `/health/ready`; without one for `/` there is
    ///     a list of the paths.
    ///   - logger: Gets the address at level `info`, and what goes wrong.
    /// - Returns: The server, and what asks the node whether it lives.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, with what to change.
    package static func services(
        for node: Node, address: String, allowsOtherHosts: Bool = false, waitsForAddress: Bool = false,
        routes: [HTTPRoute] = [], logger: Logger
    ) throws -> [any Service] {
        let probe = NodeProbe { await node.howItIs() }
        let all = [metrics(kept.withLock(\.self))] + healthRoutes(of: probe) + routes
        return [
            try NodeHTTPServer(
                address: address, allowsOtherHosts: allowsOtherHosts, waitsForAddress: waitsForAddress,
                routes: [index(of: all)] + all, logger: logger),
            probe,
        ]
    }

    // MARK: - Routes

    /// `/metrics`, in Prometheus's text format.
    private static func metrics(_ kept: KeptMetrics?) -> HTTPRoute {
        HTTPRoute("/metrics") { _ in
            guard let kept else { return .text("this program does not keep metrics\n", status: 503) }
            kept.process.observe()
            return .text(kept.registry.text(), as: PrometheusText.contentType)
        }
    }

    /// `/health/live` and `/health/ready`.
    package static func healthRoutes(of probe: NodeProbe) -> [HTTPRoute] { [live(probe), ready(probe)] }

    /// The names of the metrics that the system has of this process.
    package static var processMetrics: [String] { ProcessMetrics.help.keys.sorted() }

    /// Whether the node's thread answers, or starts.
    private static func live(_ probe: NodeProbe) -> HTTPRoute {
        HTTPRoute("/health/live") { _ in
            probe.silence.map { .text("the node's thread has not answered for \($0)\n", status: 503) }
                ?? .text(probe.isStarting ? "\(NodeProbe.starting)\n" : "the node answers\n")
        }
    }

    /// Whether an operator can leave the node alone.
    private static func ready(_ probe: NodeProbe) -> HTTPRoute {
        HTTPRoute("/health/ready") { _ in
            if let silence = probe.silence {
                return .text("the node's thread has not answered for \(silence)\n", status: 503)
            }
            return probe.unreadiness.map { .text("\($0)\n", status: 503) } ?? .text("ready\n")
        }
    }

    private static func index(of routes: [HTTPRoute]) -> HTTPRoute {
        let text = routes.map { "\($0.path)\n" }.sorted().joined()
        return HTTPRoute("/") { _ in .text("a node of Lockstep answers here:\n\(text)") }
    }
}

/// Asks a node all the time whether it answers, and keeps the answer.
///
/// A question to a thread that hangs never returns, so requests do not ask: they look at what is kept. One question is
/// under way at a time. A node that has not run yet may read its journals, which takes as long as they are: it is not
/// said to be silent.
package final class NodeProbe: Service {
    private let question: @Sendable () async -> NodeAnswer
    /// A node that has run and does not answer for so long is not alive.
    private let patience: Duration
    private let contents = Mutex(Contents())

    private struct Contents {
        var asked: ContinuousClock.Instant?
        /// The node has said once that it runs.
        var hasRun = false
        var unreadiness: String? = NodeProbe.starting
    }

    static let starting = "the node is starting"
    /// Between an answer and the next question.
    static let pause = Duration.milliseconds(500)

    /// `question` returns how the node is.
    package init(patience: Duration = .seconds(2), _ question: @escaping @Sendable () async -> NodeAnswer) {
        self.patience = patience
        self.question = question
    }

    /// Whether the node has not run yet.
    var isStarting: Bool { contents.withLock { !$0.hasRun } }

    /// How long the node has not answered, once that is too long; nil if it answers, or is starting.
    var silence: Duration? {
        guard let asked = contents.withLock({ $0.hasRun ? $0.asked : nil }) else { return nil }
        let waited = ContinuousClock.now - asked
        return waited < patience ? nil : .seconds(waited.components.seconds)
    }

    /// What keeps the node from being ready, at most half a second ago; nil if nothing does.
    var unreadiness: String? { contents.withLock { $0.unreadiness } }

    /// Asks until the task is cancelled or graceful shutdown is asked for.
    package func run() async throws {
        // What ends it is no error.
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.contents.withLock { $0.asked = .now }
                let answer = await self.question()
                self.contents.withLock { contents in
                    contents.asked = nil
                    // Before it runs there is nothing else to say.
                    guard answer.isRunning || contents.hasRun else { return }
                    (contents.hasRun, contents.unreadiness) = (true, answer.unreadiness)
                }
                try await Task.sleep(for: Self.pause)
            }
        }
    }
}

import Lockstep

/// A flow made of a closure.
struct TestFlow<Result: Sendable>: Flow {
    var name = "test"
    var resultOfDismissal: Result?
    /// Something that lives as long as the flow is held.
    var token: Token?
    let body: @Sendable (FlowScope) async throws -> Result

    init(
        _ name: String = "test", resultOfDismissal: Result? = nil, token: Token? = nil,
        body: @escaping @Sendable (FlowScope) async throws -> Result
    ) {
        self.name = name
        self.resultOfDismissal = resultOfDismissal
        self.token = token
        self.body = body
    }

    func run(_ scope: FlowScope) async throws -> Result { try await body(scope) }
}

/// Tells by its own end that a flow has been freed.
final class Token: Sendable {}

struct WeakToken: Sendable {
    weak let token: Token?
}

/// Waits for cancellation, and throws it.
func waitForCancellation() async throws -> Never {
    for await _ in CurrentValue(()).values {}
    throw CancellationError()
}

enum Choice: String, Sendable, Equatable {
    case reload, cancel
}

/// A failure that a test plans.
struct Broken: Error, Equatable {}

/// What happened, in order.
final class Notes: Sendable {
    private let lines = CurrentValue<[String]>([])

    var all: [String] { lines.value }
    func add(_ line: String) { lines.update { $0.append(line) } }
}

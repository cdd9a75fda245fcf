import Lockstep

/// A ball that a human and a machine throw to each other.
///
/// As long as the machine holds the ball, the state asks for its throw, and the primary works on it. What is asked for
/// is in the log: a primary that dies with the ball in its hand is followed by one that finds the request, and throws.
public struct PlayCatch: Reactor {
    /// What the human can do.
    public enum Action: Codable, Hashable, Sendable {
        /// Throws the ball to the machine; refused if the machine has it.
        case throwBall
    }

    /// What happened.
    public enum Mutation: Codable, Hashable, Sendable {
        /// The human threw.
        case humanThrew
        /// The machine answered the human's throw of this number.
        case machineThrew(answering: Int)
    }

    /// What all nodes have.
    public struct State: Codable, Hashable, Sendable {
        /// Who has the ball.
        public enum Holder: String, Codable, Hashable, Sendable {
            /// It waits for ``Action/throwBall``.
            case human
            /// It is on its way back.
            case machine
        }
        /// Who has the ball.
        public var holder = Holder.human
        /// How often the human has thrown it.
        public var humanThrows = 0
        /// How often the machine has thrown it.
        public var machineThrows = 0

        /// The human's throw that the machine has to answer, by its number.
        public var request: Int? { holder == .machine ? humanThrows : nil }
    }

    /// What can be asked without a replica.
    public enum Query: Codable, Hashable, Sendable {
        /// Everything.
        case state
    }
    /// The answer to a query.
    public typealias Answer = State

    /// The human begins.
    public let initialState = State()
    private let delay: Duration

    /// Makes a game; `delay` is how long the machine holds the ball, and matters on the primary only.
    public init(delay: Duration = .seconds(1)) { self.delay = delay }

    /// The machine: it runs on the primary while there is a request.
    public var feedback: [Feedback<Self>] {
        [
            .react("machine", to: \.request) { [delay] request, emit in
                try await emit.sleep(for: delay)
                try await emit(.machineThrew(answering: request))
            }
        ]
    }

    /// Decides, on the primary.
    public func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        guard context.state.holder == .human else { throw Rejection("the machine has the ball") }
        return .emit(.humanThrew)
    }

    /// Carries out, on every node.
    public static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .humanThrew:
            state.holder = .machine
            state.humanThrows += 1
        case .machineThrew(let request):
            // An answer takes its request out of the state, so there is none to a request that is not there.
            guard state.request == request else { return }
            state.holder = .human
            state.machineThrows += 1
        }
    }

    /// Shows the state.
    public static func answer(_ query: Query, in state: State) throws -> State { state }
}

import LockstepCore
import LockstepNode

/// A client's machine with a session at a primary, and the callers in front of it.
///
/// Frames go to and fro when they are told to.
final class OneClient {
    private static let connection = Connection(rawValue: 2)
    private(set) var machine: ClientStateMachine
    private let primary: OnePrimary
    private var directives: [ClientDirective] = []
    /// What the machine sent and the primary has not received.
    private var frames: [[UInt8]] = []
    /// What answers are handed to, with the frame that holds them.
    private var answered: ((ClientDirective.Answers, ReplyFrame) -> Void)?

    init(of primary: OnePrimary, wantsSession: Bool = true) {
        self.primary = primary
        primary.keepsOutput = true
        machine = ClientStateMachine(
            configuration: ClientConfiguration(
                store: Workload.storeName, node: "c2", role: .client, client: ClientKey(rawValue: 2),
                boot: BootID(rawValue: 2), incarnation: Incarnation(rawValue: 2), cluster: Workload.cluster,
                endpoint: "tcp://h:1", timeToLive: 7 * 86_400 * 1_000_000, windowBytes: 4 << 20, seed: 2,
                wantsSession: wantsSession))
        machine.start(now: primary.now, into: &directives)
        run(nil)
        while machine.session == nil {
            exchange()
            receive(primary.takeSent())
        }
    }

    var session: SessionID { machine.session?.id ?? .none }

    /// Hands a chunk over; it stays in the machine until the turn ends.
    func submit(_ actions: [UInt8], count: Int) -> RequestNumber? {
        machine.submit(actions, count: count, now: primary.now, into: &directives)
    }

    /// Makes frames of what was handed over.
    func endTurn() {
        machine.turnEnded(now: primary.now, into: &directives)
        run(nil)
    }

    /// Brings the client's frames to the primary and ends its turn; the answers are then with the primary.
    func exchange() {
        for frame in frames { primary.receive(frame, from: Self.connection) }
        frames.removeAll(keepingCapacity: true)
        primary.endTurn()
    }

    /// Receives the primary's frames, each followed by the end of a turn.
    func receive(_ answers: [[UInt8]]) {
        for frame in answers {
            withBytes(of: frame) { machine.received($0, now: primary.now, into: &directives) }
            run(frame)
            endTurn()
        }
    }

    /// Calls `body` with all answers from now on.
    func onAnswers(_ body: @escaping (ClientDirective.Answers, ReplyFrame) -> Void) { answered = body }

    private func run(_ frame: [UInt8]?) {
        for directive in directives {
            switch directive {
            case .send(let frame): frames.append(frame)
            case .answered(let answers):
                guard let frame, let answered else { break }
                answered(answers, ReplyFrame(bytes: frame))
            case .connect, .welcomed, .opened, .lost, .ended, .endLost, .readAnswered, .readDelayed, .watchAnswered,
                .queried,
                .queryAnswered, .refused, .noPrimary, .closed, .count:
                break
            }
        }
        directives.removeAll(keepingCapacity: true)
    }
}

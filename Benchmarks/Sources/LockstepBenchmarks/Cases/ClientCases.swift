import Counters
import Lockstep
import LockstepCore
import LockstepNode

/// A client: callers leave chunks, its machine numbers them and makes SUBMIT frames; answers find their callers.
///
/// What the primary does in between does not count.
enum ClientCases {
    private static let chunks = 16
    private static let actions = chunks * Workload.chunkActions

    static let all: [Case] = [
        submitting, answers, inbox,
        calling("callers/submit-chunks", .chunks, counting: .submitting),
        calling("callers/answer-chunks", .chunks, counting: .answering),
        calling("callers/submit-single", .single, counting: .submitting),
        calling("callers/answer-single", .single, counting: .answering),
        outcomes,
    ]

    // MARK: - The machine alone

    private static var submitting: Case {
        Case("client/submit", unit: "action", rounds: 40, baseline: .copy(20)) { meter in
            let primary = try OnePrimary()
            let client = OneClient(of: primary)
            var picks = Workload.Picks()
            while meter.goesOn {
                let chunks = try (0..<chunks).map { _ in try picks.increments() }
                meter.measure(actions) {
                    for chunk in chunks { submit(chunk, to: client) }
                    client.endTurn()
                }
                client.answerAll(of: primary)
            }
        }
    }

    private static var answers: Case {
        Case("client/answers", unit: "action", rounds: 40, baseline: .copy(5)) { meter in
            let primary = try OnePrimary()
            let client = OneClient(of: primary)
            var picks = Workload.Picks()
            while meter.goesOn {
                for _ in 0..<chunks { submit(try picks.increments(), to: client) }
                client.endTurn()
                client.exchange()
                let answers = primary.takeSent()
                meter.measure(actions) { client.receive(answers) }
                precondition(client.machine.unanswered == nil, "every action is answered")
                primary.forgetOutput()
            }
        }
    }

    private static func submit(_ chunk: [UInt8], to client: OneClient) {
        let first = client.submit(chunk, count: Workload.chunkActions)
        precondition(first != nil, "there is credit for the chunk")
    }

    // MARK: - With callers

    /// Chunks of 256 actions through the lock and back out.
    private static var inbox: Case {
        Case("client/inbox", unit: "chunk", rounds: 40) { meter in
            let loop = try NodeEventLoop(name: "benchmark")
            let inbox = Inbox(signaller: loop.signaller)
            var picks = Workload.Picks()
            let chunk = try picks.increments()
            var taken = InboxContents()
            while meter.goesOn {
                meter.measure(64 * chunks) {
                    for _ in 0..<64 {
                        for _ in 0..<chunks {
                            put(chunk, Workload.chunkActions, waiter(Workload.chunkActions), in: inbox)
                        }
                        inbox.exchange(&taken, withActions: true)
                        taken.removeActions()
                    }
                }
            }
        }
    }

    private enum Callers {
        /// 16 callers, each with 256 actions.
        case chunks
        /// 4,096 callers, each with one action.
        case single
    }

    private enum Part {
        /// From the inbox to the frame.
        case submitting
        /// From the frame to the callers.
        case answering
    }

    private static func calling(_ name: String, _ callers: Callers, counting part: Part) -> Case {
        Case(name, unit: "action", rounds: 40, baseline: .copy(20)) { meter in
            let loop = try NodeEventLoop(name: "benchmark")
            let inbox = Inbox(signaller: loop.signaller)
            let primary = try OnePrimary()
            let client = OneClient(of: primary)
            let desk = Desk()
            client.onAnswers { [unowned client] in desk.contents.answered($0, in: $1, session: client.session) }
            var picks = Workload.Picks()
            let perCaller = callers == .chunks ? Workload.chunkActions : 1
            while meter.goesOn {
                let calls = try (0..<actions / perCaller).map { _ in try picks.increments(perCaller) }
                let waiters = calls.map { _ in waiter(perCaller) }
                func submit() {
                    for (call, waiter) in zip(calls, waiters) { put(call, perCaller, waiter, in: inbox) }
                    desk.submit(from: inbox, to: client)
                }
                switch part {
                case .submitting:
                    meter.measure(actions) { submit() }
                    client.answerAll(of: primary)
                case .answering:
                    submit()
                    client.exchange()
                    let answers = primary.takeSent()
                    meter.measure(actions) { client.receive(answers) }
                    primary.forgetOutput()
                }
                precondition(waiters.allSatisfy(\.isDone), "every caller has its answers")
            }
        }
    }

    /// The callers' desk of a store; an object, since the client reaches it too.
    private final class Desk {
        var contents = CallerDesk()

        func submit(from inbox: Inbox, to client: OneClient) {
            repeat {
                _ = contents.take(from: inbox, withActions: true)
                _ = contents.submit(session: client.session) { client.submit($0, count: $1) }
            } while inbox.isWaiting(withActions: true)
            client.endTurn()
        }
    }

    private static func waiter(_ count: Int) -> Waiter { Waiter(count: count, deadline: .never) { keep($0) } }

    private static func put(_ actions: [UInt8], _ count: Int, _ waiter: Waiter, in inbox: Inbox) {
        inbox.put([Submission(actions: actions, count: count, waiter: waiter, isSingle: count == 1)])
    }

    /// A caller goes through the outcomes of its chunk.
    private static var outcomes: Case {
        Case("callers/outcomes", unit: "action", rounds: 40, baseline: .copy(5)) { meter in
            let items = try FrameCases.replyItems(Workload.chunkActions)
            let piece = RawReplies.Piece(
                frame: ReplyFrame(bytes: items), session: SessionCases.session(0), first: 1,
                count: Workload.chunkActions, epoch: Epoch(rawValue: 1), firstSequence: SequenceNumber(rawValue: 3),
                items: 0..<items.count)
            let coding = Counters.replyCoding
            while meter.goesOn {
                meter.measure(actions) {
                    for _ in 0..<chunks {
                        for outcome in Outcomes(RawReplies(pieces: [piece]), coding: coding) { keep(outcome) }
                    }
                }
            }
        }
    }
}

extension OneClient {
    /// Lets the primary answer everything that was submitted.
    fileprivate func answerAll(of primary: OnePrimary) {
        exchange()
        receive(primary.takeSent())
        precondition(machine.unanswered == nil, "every action is answered")
        primary.forgetOutput()
    }
}

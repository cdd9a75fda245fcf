import Foundation
import LockstepCore
import LockstepNode
import ZeroMQ

/// Runs a recovery's machine over sockets to one node, and blocks meanwhile.
///
/// Used on one thread.
final class RecoveryLink {
    /// A directive for the journal is executed here; an event that follows from it adds its directives to the second.
    typealias JournalWork = (RecoveryDirective, inout RecoveryStateMachine, inout [RecoveryDirective]) throws -> Void

    private let endpoint: String
    /// By which keys the node is asked, where nodes have some; and by which it is asked now.
    private var keys: LinkKeys
    private var present: DialKeys?
    /// When the node's other key is tried.
    private var nextKey = Tick.never
    private let context: Context
    private var ingress: DialedSocket<RecoveryLinkName>?
    private var bulk: DialedSocket<RecoveryLinkName>?
    private let poller = Poller<RecoveryLinkName>()
    private var message = ZeroMQ.Message()
    private let began = ContinuousClock.now
    /// What a failure means where it means something else than for a recovery.
    private let meaning: (RecoveryFailure) -> (any Error)?

    init(
        node endpoint: String, keys: NodeKeys?, meaning: @escaping (RecoveryFailure) -> (any Error)? = { _ in nil }
    ) throws {
        self.endpoint = endpoint
        self.keys = try LinkKeys(keys)
        self.meaning = meaning
        context = try Context()
    }

    /// The time since the command began.
    var now: Tick {
        let passed = began.duration(to: .now).wholeMicroseconds
        return Tick.zero.advanced(byMicroseconds: passed)
    }

    /// Runs the machine until it has ended.
    func run(_ machine: inout RecoveryStateMachine, _ work: JournalWork) throws {
        var directives: [RecoveryDirective] = []
        machine.start(now: now, into: &directives)
        machine.checkEvent()
        var (awaited, notice) = (machine.awaited, WaitNotice())
        while true {
            while !directives.isEmpty {
                try execute(directives.removeFirst(), &machine, &directives, work)
                machine.checkEvent()
            }
            guard !machine.hasEnded else { return }
            if machine.awaited != awaited { (awaited, notice) = (machine.awaited, WaitNotice()) }
            notice.waiting(for: text(of: machine))
            // Not all of it, so that the notice comes in time.
            let rest = Duration.nanoseconds(max(0, machine.nextDeadline - now))
            try poller.wait(timeout: min(rest, .milliseconds(300)))
            try receive(into: &machine, &directives)
            if machine.welcome == nil, now >= nextKey { try connect() }
            machine.ticked(now: now, into: &directives)
            machine.checkEvent()
        }
    }

    private func execute(
        _ directive: RecoveryDirective, _ machine: inout RecoveryStateMachine,
        _ directives: inout [RecoveryDirective], _ work: JournalWork
    ) throws {
        switch directive {
        case .connectIngress: try connect()
        case .connectBulk(let announced):
            let through = try TCPEndpoint(endpoint, use: "the node's address")
            bulk = nil
            let socket = try Endpoints.bulkLink(
                context, to: TCPEndpoint.reachable(announced, through: through), keys: present)
            bulk = DialedSocket(socket, as: .bulk, in: poller)
        // What finds no room is sent again.
        case .send(let frame, .ingress): _ = try ingress?.send(frame)
        case .send(let frame, .bulk): _ = try bulk?.send(frame)
        case .failed(let failure): throw meaning(failure) ?? failure.error(of: endpoint)
        case .continueFrom, .replace, .append, .progressed, .finished: try work(directive, &machine, &directives)
        }
    }

    /// Connects, by the node's other key if it has two and the last brought nothing.
    private func connect() throws {
        ingress = nil
        bulk = nil
        let (dial, hasOthers) = try keys.next(for: endpoint)
        present = dial
        nextKey = hasOthers ? now.advanced(byMilliseconds: LinkKeys.patience.wholeMicroseconds / 1_000) : .never
        let socket = try Endpoints.link(context, to: endpoint, keys: present)
        ingress = DialedSocket(socket, as: .ingress, in: poller)
    }

    /// Gives the machine what came, until it directs something.
    private func receive(into machine: inout RecoveryStateMachine, _ directives: inout [RecoveryDirective]) throws {
        for name in poller.ready {
            while directives.isEmpty, let frame = try frame(on: name) {
                withBytes(of: frame) { machine.received($0, on: name, now: now, into: &directives) }
                machine.checkEvent()
            }
        }
    }

    private func frame(on name: RecoveryLinkName) throws -> [UInt8]? {
        let received =
            switch name {
            case .ingress: try ingress?.receive(into: &message)
            case .bulk: try bulk?.receive(into: &message)
            }
        guard case .some(.message) = received else { return nil }
        return message.bytes
    }

    private func text(of machine: RecoveryStateMachine) -> String {
        switch machine.awaited {
        case .snapshot: "a snapshot that the node prepares"
        case .plan, .chunk, .rest: "an answer of the node \(machine.welcome?.node ?? endpoint)"
        case .welcome, nil: "an answer of \(endpoint)"
        }
    }
}

extension RecoveryFailure {
    /// What the operator is told, and the status with which the command ends.
    fileprivate func error(of endpoint: String) -> any Error {
        switch self {
        case .noNode: CommandFailure("no node answers at \(endpoint)", status: .unreachable)
        case .welcomeUnreadable(let error), .snapshotUnreadable(let error), .batchUnreadable(let error): error
        case .batchUnfit(let error):
            CommandFailure(
                "the node's batches do not go on from this journal's end (\(error)); compare the histories with "
                    + "\"\(Output.programName) journal dump\" on both", status: .damaged)
        case .refused(let text): CommandFailure("\(endpoint) refuses: \(text)")
        case .servesNoSnapshots:
            CommandFailure("the node at \(endpoint) serves no snapshots: start it with --listen", status: .usage)
        case .noAnswer: CommandFailure("the node stopped answering", status: .unreachable)
        case .preparesTooLong:
            CommandFailure(
                "the node has prepared no snapshot for 2 minutes: its log and its alarms say why it cannot",
                status: .unreachable)
        case .asksToBeginAgain:
            CommandFailure(
                "the node has asked to begin again for 2 minutes: its log and its alarms say why", status: .unreachable)
        case .noCommonPlace:
            CommandFailure(
                "this journal and the node share no place that both still know; recover from a node with a longer "
                    + "journal, or say --anew: the journal is then made anew from that node, and the old files are kept"
            )
        case .noLongerHeld(let place):
            CommandFailure("the node no longer holds what follows \(place); run recover again")
        case .snapshotTooLarge(let bytes):
            CommandFailure("the node offers a snapshot of \(bytes >> 20) MiB, which is more than a store can have")
        case .chunksDoNotBelongTogether: CommandFailure("the snapshot's chunks do not belong together; try again")
        case .otherSnapshot: CommandFailure("the snapshot is not the one that was offered; try again")
        }
    }
}

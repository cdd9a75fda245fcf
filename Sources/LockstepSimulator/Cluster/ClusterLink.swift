import DequeModule
import LockstepCore

/// A connection of a simulated cluster, of a data node or a client to a data node.
///
/// Frames come in their order or not at all: a connection breaks, and of what was under way a beginning still comes.
final class ClusterLink {
    enum Dialer: Hashable {
        case node(Int)
        case client(Int)
        case caller(Int)
    }

    /// `up` leads to the node that was dialled.
    enum Way: CaseIterable { case up, down }

    struct Pipe {
        var frames: Deque<(due: Int64, bytes: [UInt8])> = []
        var lastDue: Int64 = 0
        var isPumping = false
        /// Its receiver is told that the connection is gone when what it holds has come.
        var isEnding = false
        var isOver = false
    }

    let dialer: Dialer
    let target: Int
    let connection: Connection
    /// Of both processes; what comes to another life is dropped.
    let lives: (dialer: Int, target: Int)
    var up = Pipe()
    var down = Pipe()
    var isClosed = false
    /// It has asked for a stream, so heartbeats leave on it.
    var hasFetched = false
    /// When the last heartbeat came on it; nil: none did.
    var heard: Int64?

    init(_ dialer: Dialer, to target: Int, connection: Connection, lives: (Int, Int)) {
        (self.dialer, self.target, self.connection, self.lives) = (dialer, target, connection, lives)
    }

    subscript(way: Way) -> Pipe {
        get { way == .up ? up : down }
        _modify {
            if way == .up { yield &up } else { yield &down }
        }
    }
}

/// What is going to happen in a simulated cluster.
enum ClusterEvent {
    case tick(ClusterNode)
    case turn(ClusterNode, life: Int)
    case heartbeat(ClusterNode, life: Int)
    case wrote(ClusterNode, life: Int)
    case told(ClusterNode, life: Int)
    case boot(ClusterNode)
    case snapshot(ClusterNode, life: Int)
    case effect(ClusterNode, life: Int, token: UInt64)
    case dial(from: Int, to: Int)
    case pump(ClusterLink, ClusterLink.Way)
    case refusal(ClusterLink)
    case order(ArbiterModel.Order)
    case answer(ArbiterModel.Answer, node: Int, life: Int)
    case client(ClusterClient)
    case redirect(ClusterClient, ClusterLink, hint: Int?)
    case caller(ClusterCaller, life: Int)
    case callerRefused(ClusterCaller, attempt: Int)
    /// A connection was cut a while ago.
    case cutLasts(ClusterLink)
    case fault
    case operate(OperatorStep)
    case look
    case script(Int)
    case scriptGoesOn(Int)
}

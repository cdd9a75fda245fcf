internal import CZeroMQ

/// A kind of socket as a type, so that what a kind cannot do does not compile: a `Socket<Publisher>` has no `receive`.
public protocol SocketKind: Sendable {
    /// libzmq's type of socket for this kind.
    static var type: SocketType { get }
}

/// A type of socket, as libzmq numbers them; the kinds of this module name all that there are to use.
public struct SocketType: Hashable, Sendable {
    let code: Int32

    /// The C constant's name, such as `ZMQ_ROUTER`.
    public let name: String
}

/// Sends to whichever peer libzmq chooses, and can be told to wait.
public protocol CanSend: SocketKind {}

/// Receives from all peers in turn.
public protocol CanReceive: SocketKind {}

/// Sends to every subscriber at once and never waits; who is too slow misses messages.
public protocol CanPublish: SocketKind {}

/// Receives only what begins with a prefix it has asked for.
public protocol CanSubscribe: CanReceive {}

/// Knows its peers apart: receives from a peer, and sends to one.
public protocol CanRoute: SocketKind {}

/// Serves many peers, each known by a ``RoutingID`` (`ZMQ_ROUTER`).
///
/// `ZMQ_ROUTER_MANDATORY` is always on, so a message for a peer that has gone is ``SendOutcome/unroutable`` instead of
/// lost without a word. An id belongs to one connection: it tells nothing about who is at the other end.
public enum Router: CanRoute {
    /// `ZMQ_ROUTER`.
    public static let type = SocketType(code: ZMQ_ROUTER, name: "ZMQ_ROUTER")
}

/// Talks to one ``Router``, sending and receiving in any order (`ZMQ_DEALER`).
///
/// Connect it to one endpoint: with several, messages would go round them, dead ones included.
public enum Dealer: CanSend, CanReceive {
    /// `ZMQ_DEALER`.
    public static let type = SocketType(code: ZMQ_DEALER, name: "ZMQ_DEALER")
}

/// Sends each message to all subscribers that want it, and hears nothing back (`ZMQ_PUB`).
public enum Publisher: CanPublish {
    /// `ZMQ_PUB`.
    public static let type = SocketType(code: ZMQ_PUB, name: "ZMQ_PUB")
}

/// A ``Publisher`` that sees its subscriptions come and go (`ZMQ_XPUB`).
///
/// What it receives is a byte, 1 for a new prefix and 0 for one that nobody wants any longer, and the prefix. Receive
/// at least every 10 ms even when idle: libzmq takes notice of subscriptions on the thread that uses the socket.
public enum XPublisher: CanPublish, CanReceive {
    /// `ZMQ_XPUB`.
    public static let type = SocketType(code: ZMQ_XPUB, name: "ZMQ_XPUB")
}

/// Receives the messages of a publisher that begin with a prefix it has subscribed to (`ZMQ_SUB`).
///
/// Its send queue is unlimited by default, because subscriptions go through it: after a reconnect, those beyond the
/// limit would not be renewed.
public enum Subscriber: CanSubscribe {
    /// `ZMQ_SUB`.
    public static let type = SocketType(code: ZMQ_SUB, name: "ZMQ_SUB")
}

/// Talks to exactly one other pair, usually between two threads over `inproc://` (`ZMQ_PAIR`).
public enum Pair: CanSend, CanReceive {
    /// `ZMQ_PAIR`.
    public static let type = SocketType(code: ZMQ_PAIR, name: "ZMQ_PAIR")
}

/// Hands each message to one of the connected ``Pull`` sockets (`ZMQ_PUSH`).
public enum Push: CanSend {
    /// `ZMQ_PUSH`.
    public static let type = SocketType(code: ZMQ_PUSH, name: "ZMQ_PUSH")
}

/// Receives from all connected ``Push`` sockets in turn (`ZMQ_PULL`).
public enum Pull: CanReceive {
    /// `ZMQ_PULL`.
    public static let type = SocketType(code: ZMQ_PULL, name: "ZMQ_PULL")
}

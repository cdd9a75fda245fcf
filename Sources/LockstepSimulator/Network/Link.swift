import LockstepCore

/// Which of a node's sockets a frame is for.
enum Port: Int, Hashable, Sendable {
    case ingress
    case bulk
    case broadcast
}

/// Where a process can be reached: its number and one of its sockets, written as text in WELCOME.
struct Endpoint: Hashable, Sendable {
    var process: Int
    var port: Port

    var text: String { "sim:\(process):\(port.rawValue)" }

    init(process: Int, port: Port) {
        self.process = process
        self.port = port
    }

    init?(_ text: String) {
        let parts = text.split(separator: ":")
        guard parts.count == 3, parts[0] == "sim", let process = Int(parts[1]), let number = Int(parts[2]),
            let port = Port(rawValue: number)
        else { return nil }
        self.process = process
        self.port = port
    }
}

/// One socket of a process that connects to a socket of another.
///
/// Its connection may break and be made anew without its owner's knowledge, as with libzmq: the peer then sees a new
/// connection. Frames of one direction come in their order, unless a fault says otherwise.
final class Link {
    let id: Int
    unowned let owner: SimulatedProcess
    let ownerBoot: Int
    let target: Endpoint
    /// Of a subscription, whose frames it gets.
    let channel: Channel?
    var isOpen = true
    /// What the peer calls it; nil while there is no connection.
    var connection: Connection?
    var targetBoot = 0
    var attempts = 0
    var toTarget = Direction()
    var toOwner = Direction()
    /// What becomes of frames that were under way on connections that broke.
    var fates: [Connection: Fate] = [:]

    /// One way of the link.
    struct Direction {
        var lastArrival: Int64 = 0
        var nextSerial: UInt64 = 0
        /// Frames that wait for a cut to end, in order.
        var held: [Flight] = []
        /// Broadcast frames that are still to be dropped.
        var dropRun = 0
    }

    /// Frames with a serial number below `delivered` come through; those from `sentAgain` on come by the next
    /// connection; what is between is lost.
    struct Fate {
        var delivered: UInt64
        var sentAgain: UInt64
    }

    init(id: Int, owner: SimulatedProcess, target: Endpoint, channel: Channel?) {
        self.id = id
        self.owner = owner
        ownerBoot = owner.boot
        self.target = target
        self.channel = channel
    }
}

/// A frame under way.
struct Flight {
    let link: Link
    let isToTarget: Bool
    let connection: Connection
    let serial: UInt64
    let bytes: [UInt8]
}

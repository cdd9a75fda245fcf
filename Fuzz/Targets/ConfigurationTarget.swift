import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepNode

/// Texts that an operator writes: refused, or a value whose own text is the same value.
enum ConfigurationTarget {
    enum Mode: UInt8, CaseIterable {
        case endpoint, reachable, name, identifier, place, folder, primary, replica, client, clock
    }

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let mode = Mode(rawValue: input.byte() % UInt8(Mode.allCases.count)) ?? .endpoint
        do {
            try run(mode, &input, checks)
        } catch let finding as FuzzFinding {
            throw finding
        } catch let error as LockstepError {
            // Refused, with one line that says what to change.
            try checks.holds(!error.message.isEmpty, "a refusal without a reason")
        } catch {
            throw FuzzFinding(description: "a refusal of another kind: \(error)")
        }
    }

    private static func run(_ mode: Mode, _ input: inout FuzzInput, _ checks: Checks) throws {
        switch mode {
        case .endpoint: try endpoint(text(input.rest()), checks)
        case .reachable:
            let announced = text(input.block())
            let connected = try TCPEndpoint(text(input.rest()), use: "the address")
            let reachable = TCPEndpoint.reachable(announced, through: connected)
            try checks.same(
                TCPEndpoint.reachable(reachable, through: connected), reachable, "an address that can be reached")
        case .name:
            let text = text(input.rest())
            guard let node = NodeID(text) else { return }
            try checks.same(NodeID(node.description), node, "a name")
            try checks.holds(node.name == text && text.utf8.count <= Limits.nameBytes, "another name, or a long one")
        case .identifier:
            let text = text(input.rest())
            guard let cluster = ClusterID(hexadecimal: text) else { return }
            try checks.same(cluster.description, text.lowercased(), "an identifier's text")
        case .place:
            let text = text(input.rest())
            guard let place = Place(text) else { return }
            try checks.same(Place(place.description), place, "a place")
            let position = Position(epoch: place.epoch, sequence: place.sequence, hash: .none)
            try checks.holds(Place(position.description) == place, "a position's text is another place")
        case .folder:
            let text = text(input.rest())
            let path = try AdministrationPath(folder: text)
            try checks.holds(
                path.socket.utf8.starts(with: path.folder.utf8)
                    && path.socket.utf8.count <= AdministrationPath.longestPath,
                "the socket \(path.socket) of \(path.folder)")
            _ = NodeFolder(text).identityPath
        case .primary: try configuration(.primary(listen: text(input.rest()), journal: .memory), checks)
        case .replica: try configuration(.replica(of: text(input.block()), listen: text(input.rest())), checks)
        case .client: try configuration(.client(of: text(input.rest())), checks)
        case .clock:
            let last = LogTime(rawValue: Int64(bitPattern: input.integer()))
            let wall = LogTime(rawValue: Int64(bitPattern: input.integer()))
            try ClockRule.check(of: "sum", last: last, wall: wall, accepts: input.byte() == 1)
        }
    }

    private static func endpoint(_ text: String, _ checks: Checks) throws {
        let endpoint = try TCPEndpoint(text, use: "the address")
        try checks.same(try TCPEndpoint(endpoint.description, use: "the address"), endpoint, "an endpoint's text")
        try checks.holds(!(endpoint.isLoopback && endpoint.isWildcard), "\(endpoint) is this host and every host")
        _ = endpoint.isIPv6
    }

    private static func configuration(_ given: NodeConfiguration, _ checks: Checks) throws {
        var given = given
        given.allowsPlaintext = true
        let checked = try CheckedConfiguration(given)
        guard let listen = checked.listen else { return }
        for offset in 0..<TCPEndpoint.portsOfNode { _ = listen.advanced(by: offset) }
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

internal import Foundation
internal import LockstepCore

/// What a node tells of itself to other hosts: its status, without what belongs to its clients (PROTOCOL, R-66).
///
/// It is taken at most twice a second, whoever asks; those who ask in between get the last one.
struct RemoteStatus {
    private var taken: Result<NodeStatus, any Error>?
    /// What was made of it, by the stores that somebody may see; nil: all of them.
    private var responses: [Set<String>?: [UInt8]] = [:]
    private var staleAt = Tick.zero

    /// The elements of each list.
    static let listLimit = 256
    /// A request above this size is none.
    private static let longestRequest = 256
    private static let freshMilliseconds: Int64 = 500

    private struct Request: Decodable { var command: String }

    init() {}

    /// The frame that answers another one; nil if that is no request.
    ///
    /// `visible` has the stores that its sender may see; nil: all of them.
    mutating func answer(
        to frame: WaitingFrame, visible: Set<String>? = nil, now: Tick, _ status: () throws -> NodeStatus
    ) -> [UInt8]? {
        guard let command = frame.withFrame(Self.command) else { return nil }
        guard command == "status" else {
            return AdministrationServer.frame(
                AdministrationServer.problem(
                    "over the network a node tells its status only, and more to the role admin: ask on its own host"))
        }
        if taken == nil || now >= staleAt {
            staleAt = now.advanced(byMilliseconds: Self.freshMilliseconds)
            taken = Result { try status() }
            responses = [:]
        }
        if let response = responses[visible] { return response }
        let response = AdministrationServer.frame(json(visible: visible))
        responses[visible] = response
        return response
    }

    private func json(visible: Set<String>?) -> Data {
        do {
            guard var status = try taken?.get() else { return AdministrationServer.problem("the node has no status") }
            if let visible { status.stores.removeAll { !visible.contains($0.name) } }
            // Whoever knows a session's client can take its place.
            for index in status.stores.indices { status.stores[index].sessions = [] }
            return try status.json()
        } catch {
            return AdministrationServer.problem("\(error)")
        }
    }

    /// What a request asks for; nil if it is none, or too long for one of anybody's.
    static func command(in frame: RawSpan) -> String? {
        guard let request = AdministrationServer.request(in: frame), request.count <= longestRequest else { return nil }
        return try? JSONDecoder().decode(Request.self, from: Data(request)).command
    }
}

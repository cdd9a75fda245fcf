internal import Foundation
internal import LockstepCore

/// What a node tells of itself to other hosts: its status, without what belongs to its clients (PROTOCOL, R-66).
///
/// It is taken at most twice a second, whoever asks; those who ask in between get the last one.
struct RemoteStatus {
    private var response: [UInt8] = []
    private var staleAt = Tick.zero

    /// The elements of each list.
    static let listLimit = 256
    /// A request above this size is none.
    private static let longestRequest = 256
    private static let freshMilliseconds: Int64 = 500

    private struct Request: Decodable { var command: String }

    init() {}

    /// The frame that answers another one; nil if that is no request.
    mutating func answer(to frame: WaitingFrame, now: Tick, _ status: () throws -> NodeStatus) -> [UInt8]? {
        guard let command = frame.withFrame(Self.command) else { return nil }
        guard command == "status" else {
            return Self.frame(
                AdministrationServer.problem("over the network a node tells its status only: ask on its own host"))
        }
        guard response.isEmpty || now >= staleAt else { return response }
        staleAt = now.advanced(byMilliseconds: Self.freshMilliseconds)
        do {
            var status = try status()
            // Whoever knows a session's client can take its place.
            for index in status.stores.indices { status.stores[index].sessions = [] }
            response = Self.frame(try status.json())
        } catch {
            response = Self.frame(AdministrationServer.problem("\(error)"))
        }
        return response
    }

    private static func command(in frame: RawSpan) -> String? {
        guard let decoded = try? LockstepCore.Message.decode(frame, rule: .any),
            case .request(let range)? = AdministrationMessage(decoded.message), range.count <= longestRequest,
            let request = try? JSONDecoder().decode(Request.self, from: Data(copyBytes(of: frame, range)))
        else { return nil }
        return request.command
    }

    private static func frame(_ json: Data) -> [UInt8] {
        let bytes = Array(json)
        let stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        return withBytes(of: bytes) { stamp.frame(.adminResponse(0..<bytes.count), source: $0) }
    }
}

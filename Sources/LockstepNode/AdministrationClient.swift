package import Foundation
internal import LockstepCore
internal import ZeroMQ

/// Asks a node that runs on this host, over the socket in its administration folder.
package enum AdministrationClient {
    /// Sends one command and waits for the answer.
    ///
    /// The wait is on a thread of its own; a node that does not answer within `timeout` is reported as not running.
    ///
    /// - Parameters:
    ///   - folder: The running node's administration folder.
    ///   - command: A JSON object such as `{"command":"status"}`.
    ///   - timeout: How long to wait.
    /// - Returns: The node's answer, a JSON object.
    /// - Throws: ``LockstepError`` of code `administration` if nobody answers.
    package static func ask(
        folder: String, command: String, timeout: Duration = .seconds(5)
    ) async throws -> Data {
        let path = try AdministrationPath(folder: folder)
        // Connecting to a path that nobody ever bound would wait for the whole time.
        guard FileManager.default.fileExists(atPath: path.socket) else { throw nobody(path) }
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try exchange(path, command, timeout) }) }
            thread.name = "lockstep-ask"
            thread.start()
        }
    }

    private static func exchange(_ path: AdministrationPath, _ command: String, _ timeout: Duration) throws -> Data {
        let context = try Context()
        let socket = try Endpoints.administrationLink(context, at: path.socket)
        let poller = Poller<Bool>()
        poller.add(socket, as: true)
        let request = Array(command.utf8)
        let stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        let frame = withBytes(of: request) { stamp.frame(.adminRequest(0..<request.count), source: $0) }
        let deadline = ContinuousClock.now + timeout
        guard try socket.send(frame) else { throw nobody(path) }
        var message = ZeroMQ.Message()
        while ContinuousClock.now < deadline {
            try poller.wait(timeout: ContinuousClock.now.duration(to: deadline))
            while case .some(.message) = try socket.receive(into: &message) {
                if let answer = answer(in: message) { return Data(answer) }
            }
        }
        throw nobody(path)
    }

    private static func answer(in message: ZeroMQ.Message) -> [UInt8]? {
        message.withBytes { frame in
            // What is no answer is passed over; the wait goes on until its time is over.
            guard let decoded = try? ZeroMQ.Message.Decoded(frame), case .adminResponse(let range) = decoded.message
            else {
                return nil
            }
            return copyBytes(of: frame, range)
        }
    }

    private static func nobody(_ path: AdministrationPath) -> LockstepError {
        LockstepError(
            .administration, "no node answers at \(path.socket): is it running, and is this its administration folder?")
    }
}

extension ZeroMQ.Message {
    /// A frame of any cluster, taken apart.
    fileprivate struct Decoded {
        var message: LockstepCore.Message
        init(_ frame: RawSpan) throws(WireError) {
            message = try LockstepCore.Message.decode(frame, rule: .any).message
        }
    }
}

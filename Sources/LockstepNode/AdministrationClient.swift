package import Foundation
internal import LockstepCore
internal import ZeroMQ

/// Why a node could not be asked.
package enum AdministrationFailure: Error, Hashable, Sendable {
    /// Nobody listens at the socket, or there is none: no node runs with this folder.
    case notRunning
    /// This user may not reach the socket; the folder that bars the way belongs to `owner`, if that is known.
    case forbidden(owner: String?)
    /// Nobody answers, and a node may run; `reason` says why, as far as the system tells.
    case silent(reason: String)

    /// One line about a node whose folder is called `name`.
    package func text(about name: String) -> String {
        switch self {
        case .notRunning: "no node runs in \(name)"
        case .forbidden(let owner?):
            "no permission to ask the node in \(name): it belongs to \(owner), so ask as that user (sudo -u \(owner))"
        case .forbidden(nil): "no permission to ask the node in \(name): ask as the user that it runs as"
        case .silent(let reason):
            "the node \(name.hasPrefix("tcp://") ? "at" : "in") \(name) does not answer: \(reason)"
        }
    }
}

/// What a node refuses now, and may do a moment later; the underlying error of such a refusal.
package struct PassingRefusal: Error, Hashable, Sendable {
    /// The key that says so in an answer, beside `error`; an older command passes over it.
    package static let key = "passes"

    package init() {}
}

/// Asks a node: one of this host over the socket in its administration folder, one elsewhere over its port.
package enum AdministrationClient {
    /// Sends one command and waits for the answer.
    ///
    /// The wait is on a thread of its own.
    ///
    /// - Parameters:
    ///   - folder: The running node's administration folder.
    ///   - command: A JSON object such as `{"command":"status"}`.
    ///   - timeout: How long to wait.
    ///   - name: What the errors call the node's folder; by default `folder`.
    /// - Returns: The node's answer, a JSON object.
    /// - Throws: ``LockstepError`` of code `unavailable` if no node runs there or it does not answer, of code
    ///   `administration` if this user may not ask; its `underlying` is an ``AdministrationFailure``.
    package static func ask(
        folder: String, command: String, timeout: Duration = .seconds(5), name: String? = nil
    ) async throws -> Data {
        let path = try AdministrationPath(folder: folder)
        let name = name ?? folder
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try exchange(path, command, timeout, name) }) }
            thread.name = "lockstep-ask"
            thread.start()
        }
    }

    /// Asks a node of any host, over the port that its peers use: anybody for its status (PROTOCOL, R-66), the role
    /// `admin` for all that its own host may ask (R-74).
    ///
    /// The wait is on a thread of its own.
    ///
    /// - Parameters:
    ///   - endpoint: Where the node listens.
    ///   - command: A JSON object; by default the question for the status.
    ///   - keys: With what to prove who asks, in the order in which to try; `nil`, the default: without keys.
    ///   - timeout: How long to wait.
    /// - Returns: The node's answer, a JSON object.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` if the endpoint cannot be read, `unavailable` if nothing
    ///   answers; its `underlying` is an ``AdministrationFailure``.
    package static func ask(
        at endpoint: String, command: String = #"{"command":"status"}"#, keys: [DialKeys]? = nil,
        timeout: Duration = .seconds(2)
    ) async throws -> Data {
        let endpoint = try TCPEndpoint(endpoint, use: "the node's address")
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(
                    with: Result {
                        let context = try Context()
                        for choice in keys.map({ $0.map(Optional.some) }) ?? [nil] {
                            let link = try Endpoints.statusLink(context, to: endpoint, keys: choice)
                            let share = timeout / max(1, keys?.count ?? 1)
                            if let answer = try converse(over: link, command, share) { return answer }
                        }
                        let cause = keys == nil ? "" : ", or it does not let this key in"
                        throw failure(
                            .silent(reason: "nothing came for \(seconds(timeout)) s\(cause)"), endpoint.description)
                    })
            }
            thread.name = "lockstep-ask"
            thread.start()
        }
    }

    private static func exchange(
        _ path: AdministrationPath, _ command: String, _ timeout: Duration, _ name: String
    ) throws -> Data {
        let process: Int32?
        switch path.reach() {
        case .listening(let listener): process = listener
        case .nobody: throw failure(.notRunning, name)
        case .forbidden(let owner): throw failure(.forbidden(owner: owner), name)
        case .full:
            throw failure(
                .silent(reason: "it has taken no connection for some time: is it stopped or very busy?"), name)
        case .unknown(let reason): throw failure(.silent(reason: "\(path.socket) cannot be reached: \(reason)"), name)
        }
        let context = try Context()
        let link = try Endpoints.administrationLink(context, at: path.socket)
        if let answer = try converse(over: link, command, timeout) { return answer }
        // It may have ended while it was asked.
        if case .nobody = path.reach() { throw failure(.notRunning, name) }
        let reason = process.flatMap(ProcessLook.trouble) ?? "nothing came for \(seconds(timeout)) s"
        let who = process.map { "process \($0): " } ?? ""
        throw failure(.silent(reason: who + reason), name)
    }

    private static func seconds(_ timeout: Duration) -> Double {
        Double((timeout / .milliseconds(100)).rounded()) / 10
    }

    /// Sends a command, and waits for an answer; nil: none came in time.
    private static func converse(
        over link: consuming Socket<Dealer>, _ command: String, _ timeout: Duration
    ) throws -> Data? {
        let socket = link
        let poller = Poller<Bool>()
        poller.add(socket, as: true)
        let request = Array(command.utf8)
        let stamp = FrameStamp(channel: .none, clusterHash: 0, epoch: .zero)
        let frame = withBytes(of: request) { stamp.frame(.adminRequest(0..<request.count), source: $0) }
        let deadline = ContinuousClock.now + timeout
        var isSent = try socket.send(frame)
        var message = ZeroMQ.Message()
        while ContinuousClock.now < deadline {
            try poller.wait(timeout: ContinuousClock.now.duration(to: deadline))
            while case .some(.message) = try socket.receive(into: &message) {
                if let answer = answer(in: message) { return Data(answer) }
            }
            if !isSent { isSent = try socket.send(frame) }
        }
        return nil
    }

    private static func answer(in message: ZeroMQ.Message) -> [UInt8]? {
        message.withBytes { frame in
            // What is no answer is passed over; the wait goes on until its time is over.
            guard let decoded = try? LockstepCore.Message.decode(frame, rule: .any),
                case .response(let range)? = AdministrationMessage(decoded.message)
            else { return nil }
            return copyBytes(of: frame, range)
        }
    }

    private static func failure(_ failure: AdministrationFailure, _ name: String) -> LockstepError {
        let code: LockstepError.Code =
            switch failure {
            case .notRunning, .silent: .unavailable
            case .forbidden: .administration
            }
        return LockstepError(code, failure.text(about: name), underlying: failure)
    }
}

/// What the system tells of another process of this user.
enum ProcessLook {
    /// Why a process does not answer; nil if nothing is found, or the system does not tell.
    static func trouble(_ process: Int32) -> String? {
        let folder = "/proc/\(process)"
        // What cannot be read is not known.
        guard let stat = try? String(contentsOfFile: folder + "/stat", encoding: .utf8),
            let nameEnd = stat.lastIndex(of: ")")
        else { return nil }
        let state = stat[nameEnd...].dropFirst().split(separator: " ").first
        if state == "T" || state == "t" { return "it is stopped (SIGSTOP, or a debugger); kill -CONT lets it go on" }
        guard let limits = try? String(contentsOfFile: folder + "/limits", encoding: .utf8),
            let line = limits.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") }),
            let limit = line.split(separator: " ").compactMap({ Int($0) }).first,
            let used = try? FileManager.default.contentsOfDirectory(atPath: folder + "/fd").count, used >= limit
        else { return nil }
        return "it has no free descriptor (\(used) of \(limit)): too many connections"
    }
}

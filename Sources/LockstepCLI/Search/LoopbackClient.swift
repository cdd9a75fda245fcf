import Foundation
import Lockstep

/// A connection to a port of this host, with one request at a time: what a benchmark asks Redis and HTTP with, in the
/// same way.
final class LoopbackClient {
    private let socketNumber: Int32
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

    init(port: Int) throws {
        #if canImport(Glibc)
            let kind = Int32(SOCK_STREAM.rawValue)
        #else
            let kind = SOCK_STREAM
        #endif
        socketNumber = socket(AF_INET, kind, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socketNumber, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else {
            close(socketNumber)
            throw CommandFailure("nothing listens on port \(port)", status: .unreachable)
        }
        var yes: Int32 = 1
        setsockopt(socketNumber, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(socketNumber) }

    /// Sends a request and reads until `length` knows how long the answer is, and so much is here.
    func exchange(_ request: [UInt8], length: ([UInt8]) -> Int?) throws -> [UInt8] {
        guard send(socketNumber, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            throw CommandFailure("the connection broke")
        }
        var answer: [UInt8] = []
        while true {
            let count = recv(socketNumber, &buffer, buffer.count, 0)
            guard count > 0 else { throw CommandFailure("the connection broke") }
            answer += buffer[..<count]
            if let length = length(answer), answer.count >= length { return answer }
        }
    }

    /// `GET key` of Redis: a bulk string.
    func get(_ key: String) throws -> [UInt8] {
        let request = "*2\r\n$3\r\nGET\r\n$\(key.utf8.count)\r\n\(key)\r\n"
        return try exchange(Array(request.utf8)) { answer in
            guard answer.first == UInt8(ascii: "$"), let end = answer.firstIndex(of: 13),
                let count = Int(String(decoding: answer[1..<end], as: UTF8.self))
            else { return nil }
            return end + 2 + count + 2
        }
    }

    /// `SET key value` of Redis.
    func set(_ key: String, _ value: [UInt8]) throws {
        let head = "*3\r\n$3\r\nSET\r\n$\(key.utf8.count)\r\n\(key)\r\n$\(value.count)\r\n"
        let answer = try exchange(Array(head.utf8) + value + [13, 10]) { $0.last == 10 ? $0.count : nil }
        guard answer.first == UInt8(ascii: "+") else { throw CommandFailure("redis does not take the answers") }
    }

    /// `GET path` over HTTP, on a connection that stays; the answer's body.
    func http(_ path: String) throws -> ArraySlice<UInt8> {
        var body = 0
        let answer = try exchange(Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)) { answer in
            guard let end = answer.firstRange(of: [13, 10, 13, 10])?.upperBound else { return nil }
            body = end
            let head = String(decoding: answer[..<end], as: UTF8.self).lowercased()
            guard let field = head.firstRange(of: "content-length: ")?.upperBound else { return nil }
            return Int(head[field...].prefix { $0.isNumber }).map { end + $0 }
        }
        guard answer.starts(with: "HTTP/1.1 200".utf8) else {
            throw CommandFailure("\(path): \(String(decoding: answer.prefix(100), as: UTF8.self))")
        }
        return answer[body...]
    }
}

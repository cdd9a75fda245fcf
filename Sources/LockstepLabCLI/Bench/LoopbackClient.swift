import Foundation
import Lockstep
import LockstepServer

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
        try write(request)
        var answer: [UInt8] = []
        while true {
            answer += try read()
            if let length = length(answer), answer.count >= length { return answer }
        }
    }

    /// Sends without waiting for an answer.
    func write(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                send(socketNumber, buffer.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw CommandFailure("the connection broke") }
            sent += count
        }
    }

    /// What has come next, at least a byte; waits for it.
    func read() throws -> ArraySlice<UInt8> {
        let count = recv(socketNumber, &buffer, buffer.count, 0)
        guard count > 0 else { throw CommandFailure("the connection broke") }
        return buffer[..<count]
    }

    /// A command of Redis in one line; its answer as text, whole if it is a line or a bulk string.
    func redis(_ command: String) throws -> String {
        let answer = try exchange(Array("\(command)\r\n".utf8)) { answer in
            guard let end = answer.firstIndex(of: 10) else { return nil }
            guard answer.first == UInt8(ascii: "$") else { return end + 1 }
            return Int(String(decoding: answer[1..<(end - 1)], as: UTF8.self)).map { end + 1 + $0 + 2 }
        }
        return String(decoding: answer, as: UTF8.self)
    }

    /// A script of Redis that returns a number.
    func evaluate(_ script: String) throws -> Int {
        let request = "*3\r\n$4\r\nEVAL\r\n$\(script.utf8.count)\r\n\(script)\r\n$1\r\n0\r\n"
        let answer = try exchange(Array(request.utf8)) { $0.last == 10 ? $0.count : nil }
        let text = String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text.hasPrefix(":"), let value = Int(text.dropFirst()) else {
            throw CommandFailure("redis answered \(text)")
        }
        return value
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

    /// `GET path` over HTTP, or `POST` if there is content, on a connection that stays; the answer's body.
    func http(_ path: String, posting content: String? = nil) throws -> ArraySlice<UInt8> {
        var request = "\(content == nil ? "GET" : "POST") \(path) HTTP/1.1\r\nHost: localhost\r\n"
        if let content { request += "Content-Length: \(content.utf8.count)\r\n" }
        request += "\r\n\(content ?? "")"
        var body = 0
        let answer = try exchange(Array(request.utf8)) { answer in
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

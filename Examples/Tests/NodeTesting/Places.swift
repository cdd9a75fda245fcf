import Foundation
import Lockstep
import Synchronization

/// A new folder for as long as `body` takes.
public func withTemporaryFolder<Value>(_ body: (String) async throws -> Value) async throws -> Value {
    let folder = NSTemporaryDirectory() + "lockstep-example-\(UInt32.random(in: .min ... .max))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
        // What cannot be removed lies in the temporary folder.
        try? FileManager.default.removeItem(atPath: folder)
    }
    return try await body(folder)
}

/// An address of this host that a node can listen at, now and after a restart.
///
/// The node takes the port and the two after it, a data node the three after it. They are below those that the system
/// gives to outgoing connections, which a node refuses because they may be taken when it starts again. None is given
/// twice by one process.
public func freeAddress() throws -> String {
    for _ in 0..<1_000 {
        let port = UInt16.random(in: 10_000..<32_000)
        let ports = port..<port + 4
        let isNew = given.withLock { given in
            defer { given.formUnion(ports) }
            return given.isDisjoint(with: ports)
        }
        if isNew, ports.allSatisfy(isFree) { return "tcp://127.0.0.1:\(port)" }
    }
    throw LockstepError(.addressInUse, "no four free ports in a row were found between 10000 and 32000")
}

private let given = Mutex<Set<UInt16>>([])

private func isFree(_ port: UInt16) -> Bool {
    #if os(Linux)
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
        let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}

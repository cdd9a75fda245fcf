package import Logging

/// The keys of a node's log lines, in one place: messages are constant texts, data is metadata (no payloads, only sizes).
package enum LogKey {
    package static let node = "lockstep.node"
    package static let role = "lockstep.role"
    package static let store = "lockstep.store"
    package static let cluster = "lockstep.cluster"
    package static let boot = "lockstep.boot"
    package static let epoch = "lockstep.epoch"
    package static let sequence = "lockstep.sequence"
    package static let peer = "lockstep.peer"
    package static let endpoint = "lockstep.endpoint"
    package static let phase = "lockstep.phase"
    package static let alarm = "lockstep.alarm"
    package static let reason = "lockstep.reason"
    package static let snapshot = "lockstep.snapshot"
    package static let bytes = "lockstep.bytes"
    package static let count = "lockstep.count"
    /// Lines like this one that were held back since the last.
    package static let skipped = "lockstep.skipped"
    /// A peer's network address.
    package static let address = "lockstep.address"
    /// A kind of message.
    package static let kind = "lockstep.kind"
    /// A public key.
    package static let key = "lockstep.key"
    package static let directive = "lockstep.directive"
}

extension Logger {
    /// This logger with the node's name on every line.
    package func named(_ node: String) -> Logger {
        var logger = self
        logger[metadataKey: LogKey.node] = "\(node)"
        return logger
    }
}

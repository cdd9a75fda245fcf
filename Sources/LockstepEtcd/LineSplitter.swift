#if Etcd
    package import Foundation
    package import LockstepNode

    /// Splits what arrives in pieces into lines, without their ends; empty ones are left out.
    ///
    /// Cost: each byte is copied once or twice. What is kept is at most one line of the length that it was given.
    package struct LineSplitter: Hashable, Sendable {
        private let atMost: Int
        private var begun = Data()

        package init(atMost: Int) { self.atMost = atMost }

        /// Takes the next piece, and returns the lines that end in it.
        package mutating func split(_ piece: some Collection<UInt8>) throws(ArbiterError) -> [Data] {
            var lines: [Data] = []
            var rest = piece[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                try take(rest[..<end])
                if !begun.isEmpty { lines.append(begun) }
                begun = Data()
                rest = rest[end...].dropFirst()
            }
            try take(rest)
            return lines
        }

        private mutating func take(_ bytes: some Collection<UInt8>) throws(ArbiterError) {
            guard begun.count + bytes.count <= atMost else {
                throw ArbiterError(.badAnswer, "a line of a stream has more than \(atMost) bytes")
            }
            begun.append(contentsOf: bytes)
        }
    }
#endif

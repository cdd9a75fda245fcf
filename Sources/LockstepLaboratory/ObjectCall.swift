import LockstepCore

/// An operation on one of the objects that the laboratory's workloads use.
package struct ObjectCall: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The object; histories are split by it.
    package var key: String
    package var action: Action

    /// What is asked of an object.
    package enum Action: Hashable, Codable, Sendable {
        /// Adds to a counter, which begins at 0; the output is the sum.
        case add(Int64)
        /// Gives a register a value; the output is the value.
        case write(Int64)
        /// Gives a register a value if it has the expected one; the output is the value, or a rejection.
        case compareAndSet(expected: Int64?, new: Int64)
        /// Puts an element at the end of a list; the output is the length.
        case append(Int64)
        /// Puts an element into a set; the output is how often it is there, which must be 1.
        case insert(Int64)
        /// Moves an amount between accounts; the output is what is left, or a rejection.
        case transfer(from: Int, to: Int, amount: Int64)
        /// Replaces a document by the one that grows from a seed; the output is its length.
        case replace(seed: Int64)
        /// Asks for the value, the list, or a document's seed.
        case read
    }

    /// The key of the accounts, which are one object.
    package static let accounts = "accounts"

    /// Makes an operation.
    package init(_ key: String, _ action: Action) {
        self.key = key
        self.action = action
    }

    /// Whether the object is worth another look at the end: neither an element of the set nor a search.
    var isKept: Bool { !key.hasPrefix("element/") && !key.hasPrefix("search/") }

    /// `key.action`.
    package var description: String { "\(key).\(action)" }
}

/// What became of an operation on an object.
package enum ObjectOutput: Hashable, Codable, Sendable {
    case value(Int64)
    /// A read found no such object.
    case absent
    case list([Int64])
    /// The operation was refused and changed nothing.
    case rejected
}

/// The value of an object.
package enum ObjectState: Hashable, Sendable {
    case absent
    case value(Int64)
    case list([Int64])
}

/// A document of 100 bytes to 200 KiB that is known by a number: what is read can be compared without keeping it.
package enum Document {
    /// The lengths; small ones are the most, and every length between occurs.
    package static let lengths = 100...204_800

    /// The document of a seed; its first line is the seed.
    package static func text(seed: Int64) -> String {
        var generator = SplitMix64(seed: UInt64(bitPattern: seed))
        let head = "\(seed)\n"
        var bytes = Array(head.utf8)
        let length = Self.length(seed: seed)
        bytes.reserveCapacity(length)
        while bytes.count < length { bytes.append(UInt8(ascii: "a") + UInt8(generator.next() % 26)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// How long the document of a seed is: the logarithm is even.
    package static func length(seed: Int64) -> Int {
        var generator = SplitMix64(seed: ~UInt64(bitPattern: seed))
        let doublings = generator.next() % 11
        let low = min(lengths.lowerBound << Int(doublings), lengths.upperBound / 2)
        return min(lengths.upperBound, low + Int(generator.next() % UInt64(low)))
    }

    /// The seed of a document, or `nil` if it is not exactly what grows from the seed in its first line.
    package static func seed(of text: String) -> Int64? {
        guard let line = text.split(separator: "\n", maxSplits: 1).first, let seed = Int64(line) else { return nil }
        return Self.text(seed: seed) == text ? seed : nil
    }
}

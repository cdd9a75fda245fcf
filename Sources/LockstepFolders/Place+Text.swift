package import Lockstep

extension Place {
    /// Reads `epoch:sequence`, or a whole position `epoch:sequence:hash`, whose hash is not looked at; `nil` for
    /// anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), let epoch = Self.number(parts[0]), let sequence = Self.number(parts[1])
        else { return nil }
        self.init(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence))
    }

    /// Digits alone, since the standard library also takes a sign; below 2^63 - 1, as in every position.
    private static func number(_ text: Substring) -> UInt64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = UInt64(text),
            number < UInt64(Int64.max)
        else { return nil }
        return number
    }
}

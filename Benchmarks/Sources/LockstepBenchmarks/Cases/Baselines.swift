import LockstepCore

/// What no implementation can leave out, written as plainly as the language allows.
extension Baseline {
    /// An addition to a `Dictionary` of 100,000 counters, whose key is there as a text already.
    static func dictionary(_ names: Workload.Names = .short) -> Baseline {
        Baseline("Dictionary +=") { meter in
            var picks = Workload.Picks(names)
            let keys = picks.next(65_536)
            var counters: [String: Int64] = [:]
            for name in names.all { counters[name] = 1_000 }
            while meter.goesOn {
                meter.measure(65_536) { for key in keys { counters[key, default: 0] += 1 } }
            }
            keep(counters)
        }
    }

    /// A copy of `bytes` bytes for each operation, one after the other.
    static func copy(_ bytes: Int) -> Baseline {
        Baseline("memcpy") { meter in
            let source = [UInt8](repeating: 7, count: bytes * 8_192)
            var target = [UInt8](repeating: 0, count: bytes * 8_192)
            while meter.goesOn {
                meter.measure(8_192) {
                    source.withUnsafeBytes { from in
                        target.withUnsafeMutableBytes { to in
                            for start in stride(from: 0, to: from.count, by: bytes) {
                                to[start..<start + bytes].copyBytes(from: from[start..<start + bytes])
                            }
                        }
                    }
                    keep(target)
                }
            }
        }
    }

    /// SHA-256 over `bytes` bytes, of which each operation has its share.
    static func sha256(_ bytes: Int, operations: Int) -> Baseline {
        Baseline("SHA-256") { meter in
            let source = [UInt8](repeating: 7, count: bytes)
            while meter.goesOn { meter.measure(operations) { keep(sha256Prefix(source)) } }
        }
    }
}

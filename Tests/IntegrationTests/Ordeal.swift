import Foundation
import LockstepHarness
import Testing

/// What became of a node and of its honest clients while hostile peers were there.
struct Ordeal {
    /// Increments a second without the hostile peers, and with them.
    var alone: Double
    var during: Double
    /// The longest that one call of an honest client took, in seconds.
    var longest: Double
    /// The longest that a new client took to connect, to open a session and to have its first answers, in seconds.
    var opening: Double
    /// How far the node's resident memory came above what it was before, in bytes.
    var growth: Int

    /// An honest client keeps a fifth of its rate, on two cores of which the flood itself takes one; 0.53 was the least
    /// that was seen at a primary, with a flood of HELLOs.
    static let smallestShare = 0.2
    /// Both are far below those of the program, and far above what was seen.
    static let longestWait = 5.0
    static let longestOpening = 5.0
    /// The resend window, libzmq's queues and the rings are in this, and what the allocator keeps of a burst.
    ///
    /// 72 MiB were seen at a primary, and 137 at a data node.
    static let largestGrowth = 288 << 20
    /// The same with messages that do not end, of which a connection on loopback brings some 400 MiB before it is ended.
    ///
    /// In 40 s of them a node had 1.1 GiB at most, and in the seconds of a test 568 MiB.
    static let largestGrowthWithoutEnd = 1 << 30

    /// What an honest client keeps at least, and how far memory may grow.
    var share = Self.smallestShare
    var room = Self.largestGrowth

    var isSlow: Bool { during < alone * share }
    /// What a busy machine may have done.
    var delays: [String] {
        var delays: [String] = []
        if isSlow { delays.append("\(Int(during))/s of \(Int(alone))/s are left") }
        if longest > Self.longestWait { delays.append("a call took \(longest) s") }
        if opening > Self.longestOpening { delays.append("a new client waited \(opening) s") }
        return delays
    }
    var complaints: [String] {
        growth > room ? delays + ["memory grew by \(growth >> 20) MiB"] : delays
    }
}

extension IntegrationTests {
    /// What a client had that asks for 64 at a time.
    struct Work {
        var count = 0
        var seconds = 0.0
        var longest = 0.0
        var opening = 0.0
        var perSecond: Double { Double(count) / max(seconds, 0.001) }

        mutating func add(_ part: Work) {
            count += part.count
            seconds += part.seconds
            longest = max(longest, part.longest)
            opening = max(opening, part.opening)
        }
    }

    /// `VmRSS` or `VmHWM` (the most that it ever was) of a process, in bytes.
    static func memory(_ process: Int32, _ field: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(field) })
        return 1_024 * (try #require(Int(line.split(whereSeparator: \.isWhitespace)[1])))
    }

    /// `VmRSS` of nodes, in bytes.
    static func memory(of nodes: [ChildProcess]) throws -> [Int] {
        try nodes.map { try memory($0.identifier, "VmRSS") }
    }

    /// What each node's honest clients and memory suffered; throws ``Disturbed`` if only delays are to complain of.
    static func judge(
        _ kind: String, _ nodes: [ChildProcess], alone: Work, after: Work, during: Work, before: [Int], said: String,
        share: Double = Ordeal.smallestShare
    ) throws {
        // What else the machine does is not the peers': the lower rate counts, as long as it is no lasting harm.
        let quiet = max(alone.perSecond / 2, min(alone.perSecond, after.perSecond))
        let room = kind == "endless" ? Ordeal.largestGrowthWithoutEnd : Ordeal.largestGrowth
        #expect(said.contains(/sent [1-9]/), "\(kind) did not work: \(said)")
        var delays: [String] = []
        for (index, (node, before)) in zip(nodes, before).enumerated() {
            #expect(node.isRunning, "\(kind) ended node \(index)")
            let ordeal = Ordeal(
                alone: quiet, during: during.perSecond, longest: during.longest, opening: during.opening,
                growth: try Self.memory(node.identifier, "VmHWM") - before, share: share, room: room)
            print(
                "\(kind), node \(index): \(said.split(separator: "\n").last ?? ""); \(Int(ordeal.during))/s of "
                    + "\(Int(ordeal.alone))/s, longest \(ordeal.longest) s, new client \(ordeal.opening) s, "
                    + "memory +\(ordeal.growth >> 20) MiB")
            if !ordeal.delays.isEmpty, ordeal.complaints == ordeal.delays {
                delays += ordeal.delays
            } else {
                #expect(ordeal.complaints == [], "\(kind), node \(index)")
            }
        }
        if !delays.isEmpty { throw Disturbed("\(kind): \(delays.joined(separator: ", "))") }
    }
}

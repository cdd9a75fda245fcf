import Counters
import Lockstep
import LockstepCore

/// The two frames that each action needs, with 256 actions or answers in each: header, checksum, content.
enum FrameCases {
    private static let stamp = FrameStamp(
        channel: Workload.channel, clusterHash: Workload.cluster.hash, epoch: Epoch(rawValue: 1))
    private static let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2))

    static let all: [Case] = [
        encoding("frames/submit-encode", submit, bytesOfAction: 20),
        decoding("frames/submit-decode", submit, bytesOfAction: 20),
        encoding("frames/result-encode", result, bytesOfAction: 5),
        decoding("frames/result-decode", result, bytesOfAction: 5),
    ]

    private static func submit() throws -> (Message, source: [UInt8]) {
        var picks = Workload.Picks()
        let actions = try picks.increments()
        let submit = Submit(
            session: session, first: 1, ackedThrough: 0, count: Workload.chunkActions, isVoid: false,
            actions: 0..<actions.count)
        return (.submit(submit), actions)
    }

    private static func result() throws -> (Message, source: [UInt8]) {
        let items = try replyItems(Workload.chunkActions)
        let run = ResultSeries(
            session: session, first: 1, count: Workload.chunkActions, epoch: Epoch(rawValue: 1),
            firstSequence: SequenceNumber(rawValue: 3), items: 0..<items.count)
        return (.result(run), items)
    }

    /// Kept replies, end to end.
    static func replyItems(_ count: Int) throws -> [UInt8] {
        var items = ByteWriter()
        for index in 0..<count {
            let reply = try Counters.replyCoding.encoded(.value(1_000 + Int64(index)))
            withBytes(of: reply) { ReplyItem.write(.committed, $0, 0..<$0.byteCount, to: &items) }
        }
        return items.bytes
    }

    private static func encoding(
        _ name: String, _ message: @escaping @Sendable () throws -> (Message, source: [UInt8]), bytesOfAction: Int
    ) -> Case {
        Case(
            name, unit: "action", rounds: 40, baseline: .copy(bytesOfAction)
        ) { meter in
            let (message, source) = try message()
            while meter.goesOn {
                meter.measure(64 * Workload.chunkActions) {
                    withBytes(of: source) { bytes in
                        for _ in 0..<64 { keep(stamp.frame(message, source: bytes)) }
                    }
                }
            }
        }
    }

    private static func decoding(
        _ name: String, _ message: @escaping @Sendable () throws -> (Message, source: [UInt8]), bytesOfAction: Int
    ) -> Case {
        Case(
            name, unit: "action", rounds: 40, baseline: .copy(bytesOfAction)
        ) { meter in
            let (message, source) = try message()
            let frame = withBytes(of: source) { stamp.frame(message, source: $0) }
            while meter.goesOn {
                try meter.measure(64 * Workload.chunkActions) {
                    try withBytes(of: frame) { (bytes) throws(WireError) in
                        for _ in 0..<64 {
                            keep(try Message.decode(bytes, rule: .member(Workload.cluster.hash)).message)
                        }
                    }
                }
            }
        }
    }
}

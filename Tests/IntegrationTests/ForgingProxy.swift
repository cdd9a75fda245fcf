import Foundation
import LockstepCore
import Synchronization
import ZeroMQ

private typealias Frame = LockstepCore.Message

/// Stands between a replica and its primary, and changes what the replica gets of snapshots.
///
/// Each changed frame has a right header and a right checksum, as a hostile node makes them. It serves one replica.
final class ForgingProxy: Sendable {
    enum Mode: Int, CaseIterable, Sendable {
        case honest
        /// A plan that promises 2^60 bytes.
        case immense
        /// A plan with chunks of one byte, so many that a list of them would fill the memory.
        case crumbs
        /// A chunk whose own hash is right, and is not the plan's.
        case otherChunk
        /// A byte of the content is another one, and all hashes are right.
        case otherContent
    }

    private let mode = Atomic<Int>(0)
    private let forgeries = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)
    private let done = DispatchSemaphore(value: 0)

    /// How many changed frames were sent.
    var forged: Int { forgeries.load(ordering: .sequentiallyConsistent) }

    /// Listens at `port` and the next one for a replica of the primary whose first port is `primary`.
    init(port: Int, primary: Int) throws {
        let ready = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        Thread.detachNewThread { [self] in
            defer { done.signal() }
            do {
                let context = try Context()
                var ingress = try Socket<Router>(in: context)
                var bulk = try Socket<Router>(in: context)
                var link = try Socket<Dealer>(in: context)
                var source = try Socket<Dealer>(in: context)
                try ingress.bind(to: "tcp://127.0.0.1:\(port)")
                try bulk.bind(to: "tcp://127.0.0.1:\(port + 1)")
                try link.connect(to: "tcp://127.0.0.1:\(primary)")
                try source.connect(to: "tcp://127.0.0.1:\(primary + 2)")
                ready.signal()
                var forger = Forger(bulk: "tcp://127.0.0.1:\(port + 1)")
                var (caller, joiner): (RoutingID?, RoutingID?) = (nil, nil)
                while !isOver.load(ordering: .sequentiallyConsistent) {
                    forger.mode = Mode(rawValue: mode.load(ordering: .sequentiallyConsistent)) ?? .honest
                    if let (frame, peer) = try Self.next(ingress) {
                        caller = peer
                        _ = try link.send(frame)
                    } else if let (frame, peer) = try Self.next(bulk) {
                        joiner = peer
                        let asked = forger.asked(frame)
                        for answer in asked.answers { _ = try bulk.send(answer, to: peer) }
                        for question in asked.questions { _ = try source.send(question) }
                    } else if let frame = try Self.next(link), let caller {
                        _ = try ingress.send(forger.welcomed(frame), to: caller)
                    } else if let frame = try Self.next(source), let joiner {
                        let served = forger.served(frame)
                        for answer in served.answers { _ = try bulk.send(answer, to: joiner) }
                        for question in served.questions { _ = try source.send(question) }
                    } else {
                        usleep(500)
                    }
                    forgeries.store(forger.count, ordering: .sequentiallyConsistent)
                }
            } catch {
                failure.withLock { $0 = error }
                ready.signal()
            }
        }
        ready.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    func set(_ next: Mode) { mode.store(next.rawValue, ordering: .sequentiallyConsistent) }

    func end() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        done.wait()
    }

    private static func next(_ socket: borrowing Socket<Router>) throws -> ([UInt8], RoutingID)? {
        var message = ZeroMQ.Message()
        guard case .message(let peer)? = try socket.receive(into: &message) else { return nil }
        return (message.bytes, peer)
    }

    private static func next(_ socket: borrowing Socket<Dealer>) throws -> [UInt8]? {
        var message = ZeroMQ.Message()
        guard case .message? = try socket.receive(into: &message) else { return nil }
        return message.bytes
    }
}

/// What a hostile node makes of the frames of an honest one.
private struct Forger {
    var mode = ForgingProxy.Mode.honest
    private(set) var count = 0
    private let bulk: String
    /// Plans whose only chunk is awaited, so that the plan can name the changed content.
    private var held: [UInt64: (header: FrameHeader, plan: SyncPlan, info: SnapshotInfo)] = [:]
    private var contents: [UInt64: [UInt8]] = [:]

    struct Reaction {
        var answers: [[UInt8]] = []
        var questions: [[UInt8]] = []
    }

    init(bulk: String) { self.bulk = bulk }

    private func read(_ frame: [UInt8]) -> (header: FrameHeader, message: Frame)? {
        // What cannot be read is passed on as it is.
        withBytes(of: frame) { try? Frame.decode($0, rule: .any) }
    }

    private func stamp(_ header: FrameHeader) -> FrameStamp {
        FrameStamp(channel: header.channel, clusterHash: header.clusterHash, epoch: header.epoch)
    }

    /// The replica is sent to this proxy for snapshots.
    func welcomed(_ frame: [UInt8]) -> [UInt8] {
        guard let (header, message) = read(frame), case .welcome(var welcome) = message else { return frame }
        welcome.bulkEndpoint = bulk
        return stamp(header).frame(.welcome(welcome))
    }

    /// The replica asks: always for a snapshot, and for a changed content it is answered from here.
    mutating func asked(_ frame: [UInt8]) -> Reaction {
        guard let (header, message) = read(frame) else { return Reaction(questions: [frame]) }
        if case .sync(var sync) = message {
            sync.wantsSnapshot = true
            return Reaction(questions: [stamp(header).frame(.sync(sync))])
        }
        guard case .chunkRequest(let request) = message, let content = contents[request.snapshot] else {
            return Reaction(questions: [frame])
        }
        count += 1
        return Reaction(answers: [chunk(content, of: request.snapshot, header)])
    }

    /// The primary answers.
    mutating func served(_ frame: [UInt8]) -> Reaction {
        guard mode != .honest, let (header, message) = read(frame) else {
            contents = [:]
            return Reaction(answers: [frame])
        }
        switch message {
        case .syncPlan(var plan):
            guard case .snapshot(var info) = plan.decision else { return Reaction(answers: [frame]) }
            switch mode {
            case .honest, .otherChunk: return Reaction(answers: [frame])
            case .otherContent:
                held[info.id] = (header, plan, info)
                let request = ChunkRequest(snapshot: info.id, index: 0, window: 1)
                return Reaction(questions: [stamp(header).frame(.chunkRequest(request))])
            case .immense: info.byteCount = 1 << 60
            case .crumbs: (info.byteCount, info.chunkSize) = (1 << 33, 1)
            }
            plan.decision = .snapshot(info)
            count += 1
            return Reaction(answers: [stamp(header).frame(.syncPlan(plan))])
        case .chunk(let chunk):
            var content = Array(frame[chunk.content])
            if var (first, plan, info) = held.removeValue(forKey: chunk.snapshot) {
                count += 1
                content[(count * 7_919) % content.count] ^= 1
                info.root = SnapshotInfo.root(of: [sha256Prefix(content)])
                plan.decision = .snapshot(info)
                contents[info.id] = content
                first.epoch = header.epoch
                return Reaction(answers: [stamp(first).frame(.syncPlan(plan))])
            }
            // A chunk of a plan from before the mode was changed is no right one either.
            count += 1
            content[content.count / 2] ^= 1
            return Reaction(answers: [self.chunk(content, of: chunk.snapshot, header)])
        default: return Reaction(answers: [frame])
        }
    }

    private func chunk(_ content: [UInt8], of snapshot: UInt64, _ header: FrameHeader) -> [UInt8] {
        let chunk = Chunk(snapshot: snapshot, index: 0, hash: sha256Prefix(content), content: 0..<content.count)
        return withBytes(of: content) { stamp(header).frame(.chunk(chunk), source: $0) }
    }
}

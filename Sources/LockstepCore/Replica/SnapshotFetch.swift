/// The chunks of one snapshot on their way here: what is asked for, what came, what is still missing (PROTOCOL, R-32).
struct SnapshotFetch: Hashable, Sendable {
    let info: SnapshotInfo
    private var chunks: [[UInt8]?]
    private var hashes: [UInt128]
    private(set) var receivedCount = 0
    /// Chunks before this one were asked for at least once.
    private var cursor = 0
    /// Asked for and not here; at most ``Limits/chunkWindow``.
    private var inFlight: [Request] = []
    /// Asked for in vain; they come first.
    private var missing: [Int] = []
    private(set) var lastProgress: Tick

    private struct Request: Hashable, Sendable {
        var index: Int
        var deadline: Tick
    }

    init(_ info: SnapshotInfo, now: Tick) {
        self.info = info
        chunks = Array(repeating: nil, count: info.chunkCount)
        hashes = Array(repeating: 0, count: info.chunkCount)
        lastProgress = now
    }

    var isComplete: Bool { receivedCount == chunks.count }
    var count: Int { chunks.count }

    /// When the next chunk that was asked for is overdue, or the whole fetch stands still.
    var nextDeadline: Tick {
        inFlight.reduce(lastProgress.advanced(byMilliseconds: ReplicaTiming.fetchProgress)) { min($0, $1.deadline) }
    }

    /// What became of a chunk.
    enum Acceptance: Hashable, Sendable {
        case accepted
        case duplicate
        /// Another snapshot's, or its bytes are not what its hash says; it is asked for again when it is overdue.
        case refused
    }

    mutating func receive(_ chunk: Chunk, _ frame: RawSpan, now: Tick) -> Acceptance {
        let index = Int(chunk.index)
        guard chunk.snapshot == info.id, index < chunks.count, chunk.content.count == info.chunkRange(index).count
        else {
            return .refused
        }
        guard chunks[index] == nil else { return .duplicate }
        guard sha256Prefix(frame, chunk.content) == chunk.hash else { return .refused }
        chunks[index] = copyBytes(of: frame, chunk.content)
        hashes[index] = chunk.hash
        receivedCount += 1
        lastProgress = now
        inFlight.removeAll { $0.index == index }
        missing.removeAll { $0 == index }
        return .accepted
    }

    /// What to ask for now: as many chunks as the window has room for, neighbours in one request.
    mutating func requests(now: Tick, window: Int) -> [ChunkRequest] {
        for request in inFlight where request.deadline <= now { missing.append(request.index) }
        inFlight.removeAll { $0.deadline <= now }
        var requests: [ChunkRequest] = []
        while inFlight.count < window, let index = nextIndex() {
            inFlight.append(Request(index: index, deadline: now.advanced(byMilliseconds: ReplicaTiming.chunk)))
            if let last = requests.last, Int(last.index) + Int(last.window) == index {
                requests[requests.count - 1].window += 1
            } else {
                requests.append(ChunkRequest(snapshot: info.id, index: UInt32(index), window: 1))
            }
        }
        return requests
    }

    private mutating func nextIndex() -> Int? {
        if !missing.isEmpty { return missing.removeFirst() }
        while cursor < chunks.count {
            defer { cursor += 1 }
            if chunks[cursor] == nil { return cursor }
        }
        return nil
    }

    /// Forgets what was asked for, not what came: the server, or the socket, is another one.
    mutating func restart(now: Tick) {
        inFlight = []
        missing = []
        cursor = 0
        lastProgress = now
    }

    /// The whole snapshot if the hash of the hashes is the plan's.
    func content() -> [UInt8]? {
        guard isComplete, SnapshotInfo.root(of: hashes) == info.root else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(info.byteCount))
        for chunk in chunks { bytes.append(contentsOf: chunk ?? []) }
        return bytes
    }

    func checkInvariants() {
        precondition(inFlight.count <= Int(Limits.chunkWindow), "at most a window of chunks is asked for")
        precondition(receivedCount == chunks.lazy.filter { $0 != nil }.count, "the fetch knows what it has")
    }
}

// The answers to CHUNK_REQ and REPAIR_REQ.
extension JoinServer {
    mutating func requested(
        _ request: ChunkRequest, from connection: Connection, now: Tick, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) {
        guard
            let index = reservations.firstIndex(where: {
                $0.connection == connection && $0.snapshot == request.snapshot && $0.expires > now
            }), let held = snapshots.firstIndex(where: { $0.info.id == request.snapshot })
        else {
            return actions.append(.frame(log.stamp.frame(.resync), to: connection))
        }
        let first = Int(request.index)
        let last = min(snapshots[held].info.chunkCount, first + Int(min(request.window, Limits.chunkWindow)))
        guard first < last else { return actions.append(.count(.framesRefused)) }
        reservations[index].expires = now.advanced(byMilliseconds: bounds.leaseMilliseconds)
        reservations[index].reached = max(reservations[index].reached, last)
        line.fetched(reservations[index].node, connection)
        snapshots[held].usedAt = now
        for chunk in first..<last where !reservations[index].queued.contains(chunk) {
            // Beyond its window nothing is queued: the joiner asks again for what does not come.
            guard reservations[index].queued.count < Int(Limits.chunkWindow) else { break }
            reservations[index].queued.append(chunk)
        }
        sendQueued(now: now, chunksAtOnce: bounds.chunksAtOnce, into: &actions)
    }

    /// Sends queued chunks, neighbours together, as far as the throttle lets them.
    mutating func sendQueued(now: Tick, chunksAtOnce: Int, into actions: inout [ServeAction]) {
        var left = chunksAtOnce
        // At most a second and 8 GB/s, so the product stays below 2^63.
        let elapsed = min(max(0, now - (refilledAt ?? now)), Tick.milliseconds(1_000))
        let earned = elapsed * bytesPerSecond / 1_000_000_000
        tokens = min(Self.burstBytes, tokens + earned)
        if earned > 0 || refilledAt == nil { refilledAt = now }
        for index in reservations.indices {
            while let first = reservations[index].queued.first, left > 0, tokens >= Int64(Limits.chunkBytes) {
                var end = first
                while reservations[index].queued.first == end, left > 0, tokens >= Int64(Limits.chunkBytes) {
                    reservations[index].queued.removeFirst()
                    left -= 1
                    tokens -= Int64(Limits.chunkBytes)
                    end += 1
                }
                if snapshots.contains(where: {
                    $0.info.id == reservations[index].snapshot && $0.info.chunkCount == end
                }) {
                    let lease = now.advanced(byMilliseconds: Self.lastLeaseMilliseconds)
                    reservations[index].expires = min(reservations[index].expires, lease)
                }
                let reservation = reservations[index]
                actions.append(
                    .chunks(snapshot: reservation.snapshot, indices: first..<end, to: reservation.connection))
            }
        }
    }

    mutating func requested(
        _ request: RepairRequest, from connection: Connection, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) {
        reservations.removeAll { $0.connection == connection }
        let after = request.after
        let committed = log.committed.position.sequence
        let limit = min(Int(request.largestReply), bounds.repairBytes)
        let batches: [SealedBatch]
        if !bounds.isRepairUnavailable, after.sequence < committed, request.through > after.sequence,
            log.hash(at: after.sequence) == after.hash
        {
            let held = log.window.batches(
                after: after.sequence, through: min(request.through, committed), bytes: limit)
            batches = (held ?? []).filter { $0.head.last <= committed }
        } else {
            batches = []
        }
        guard !batches.isEmpty else {
            let answer = Repair(nonce: request.nonce, status: .unavailable, batches: [])
            return actions.append(.frame(log.stamp.frame(.repair(answer)), to: connection))
        }
        actions.append(.count(.repairsServed))
        actions.append(.frame(log.stamp.repairFrame(nonce: request.nonce, batches: batches), to: connection))
    }
}

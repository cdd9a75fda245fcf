import LockstepCore

/// Snapshots: refused, or values that encode to the same bytes, and with which a log goes on (PROTOCOL, R-50).
enum SnapshotTarget {
    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let flags = input.byte()
        let bytes = input.rest()
        guard flags & 1 == 0 else { return try table(bytes, checks) }
        var content: SnapshotContent
        do throws(WireError) {
            content = try SnapshotContent(bytes)
        } catch {
            try checks.holds((0...bytes.count).contains(error.offset), "an error outside the snapshot: \(error)")
            return
        }
        // The older forms, without what was told and without runs, are read, and written in the newer one.
        if bytes[4] < 3 {
            let all = content.log.position.sequence > .zero ? content.log.known : .none
            try checks.holds(content.log.told == all, "what an older form does not say counts as told")
            try checks.holds(bytes[4] > 1 || content.log.runs.count == 0, "the oldest form has no runs")
        } else {
            try checks.same(content.encoded(), bytes, "a snapshot that was encoded again")
        }
        try LogWalk.walk(content.log, checks)
        let info = EncodedSnapshot(number: 1, bytes: bytes, log: content.log, digest: content.digest).info
        try checks.holds(info.byteCount == UInt64(bytes.count) && info.chunkCount == 1, "\(info) is not one chunk")
        try goOn(&content.log, checks)
        try LogWalk.walk(content.log, checks)
    }

    /// The session table alone.
    private static func table(_ bytes: [UInt8], _ checks: Checks) throws(FuzzFinding) {
        try withBytes(of: bytes) { (span) throws(FuzzFinding) in
            var reader = ByteReader(span)
            guard let sessions = try? SessionTable(from: span, &reader, hasSenders: true) else { return }  // Refused.
            var writer = ByteWriter()
            sessions.write(to: &writer)
            try checks.same(writer.bytes, Array(bytes[..<reader.offset]), "a session table that was encoded again")
        }
    }

    /// Applies what a primary might write next: the sessions' next actions, then their ends.
    private static func goOn(_ log: inout LogState, _ checks: Checks) throws(FuzzFinding) {
        // A primary has an epoch; without one it would have to open it first. Nor is there one that has written so much
        // that the numbers end.
        guard log.position.epoch > .zero, log.position.sequence.rawValue < UInt64(Int64.max) - 64 else { return }
        var builder = BatchBuilder(store: log.store, epoch: log.position.epoch, after: log.position, time: log.time)
        let sessions = log.sessions.sorted.prefix(8)
        // A primary takes no more after the last number that there is.
        for session in sessions where session.last < UInt64(Int64.max) - 4 {
            builder.beginSeries(session: session.id, first: session.last + 1, ackedThrough: session.last)
            builder.appendItem(.rejected, reason: "no")
            builder.appendItem(.void)
            _ = builder.endSeries()
        }
        builder.append(
            .sessionAck(sessions.map { SessionAcknowledgement(session: $0.id, through: $0.last + 1) }))
        if let first = sessions.first { builder.append(.sessionClose(first.id)) }
        let batch = builder.sealed()
        do throws(LogState.ApplyError) {
            _ = try log.apply(batch, to: FuzzState())
        } catch {
            throw FuzzFinding(description: "a snapshot was taken with which the log cannot go on: \(error)")
        }
        try checks.same(log.position, batch.position, "the position after a batch")
    }
}

/// What anybody may ask of a log that was decoded or applied.
enum LogWalk {
    static func walk(_ log: LogState, _ checks: Checks) throws(FuzzFinding) {
        try checks.holds(log.position.sequence.next > log.position.sequence, "\(log.position) has no next number")
        for session in log.sessions.sorted.prefix(8) {
            var counted = 0
            var runs = 0
            log.sessions.forEachReply(of: session.id, in: 1...(.max)) { run, bytes, range in
                var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
                while reader.remaining > 0, (try? ReplyItem(from: bytes, &reader)) != nil { counted += 1 }
                runs += run.count
            }
            try checks.holds(counted == runs, "a session keeps \(counted) replies and says \(runs)")
            guard let standing = log.sessions.standing(of: session.id) else {
                throw FuzzFinding(description: "a session of the table is not found")
            }
            try checks.holds(standing.last == session.last, "a session's standing is another's")
            if let last = log.sessions.lastNumber(of: session.id, through: log.position.sequence) {
                try checks.holds(last <= session.last, "a number after the last")
                log.sessions.forEachReply(of: session.id, in: last...last) { _, _, _ in }
            }
            let opened = log.sessions.session(openedBy: session.client, nonce: session.openNonce)
            try checks.holds(opened?.id == session.id, "a repeated OPEN would get another session")
        }
        try comesBack(log, checks)
    }

    /// Another node that fetches the log as a snapshot has the same (PROTOCOL, R-50).
    private static func comesBack(_ log: LogState, _ checks: Checks) throws(FuzzFinding) {
        let bytes = SnapshotContent(log: log, digest: log.digest, state: [1, 2, 3]).encoded()
        let content: SnapshotContent
        do throws(WireError) {
            content = try SnapshotContent(bytes)
        } catch {
            throw FuzzFinding(description: "a log's own snapshot is refused: \(error)")
        }
        try checks.holds(content.log.sessions == log.sessions, "a log's own snapshot has other sessions")
        try checks.holds(content.log.mark == log.mark, "a log's own snapshot has another mark")
        try checks.holds(content.log == log, "a log's own snapshot is another log")
        try checks.holds(content.digest == content.log.digest, "the sessions' digest is another")
        try checks.same(content.encoded(), bytes, "a log's own snapshot that was encoded again")
    }
}

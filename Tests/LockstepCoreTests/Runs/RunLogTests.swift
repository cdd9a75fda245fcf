import LockstepCore
import Testing

/// The entries of effects as a replica reads them.
@Suite struct RunLogTests {
    private let session = SessionID(epoch: GoldenVectors.epoch, sequence: SequenceNumber(rawValue: 2))

    /// A log with session 2, whose last number is 5; 4 has ended, 5 runs.
    private func problem(_ build: (inout BatchBuilder) -> Void) throws -> LogState.ApplyError? {
        var (log, state) = try GoldenVectors.logWithRuns()
        var batch = BatchBuilder(
            store: log.store, epoch: log.position.epoch, after: log.position, time: log.time)
        build(&batch)
        do {
            _ = try log.apply(batch.sealed(), to: state)
            return nil
        } catch {
            return error
        }
    }

    private func problem(_ entry: Entry, _ source: [UInt8] = []) throws -> WireError.Problem? {
        let position = try GoldenVectors.logWithRuns().log.position
        let error = try problem { batch in _ = withBytes(of: source) { batch.append(entry, source: $0) } }
        guard let error else { return nil }
        guard case .malformed(let sequence, let reason) = error else {
            Issue.record("\(error)")
            return nil
        }
        #expect(sequence == position.sequence.next)
        return reason.problem
    }

    private func accepted(_ number: RequestNumber, acked: RequestNumber = 0) -> Entry {
        .accepted(session: session, number: number, ackedThrough: acked, action: 0..<0)
    }

    /// Goal: the log of the golden vectors does what its entries say (PROTOCOL ).
    @Test func theEntriesDoWhatTheySay() throws {
        let (log, state) = try GoldenVectors.logWithRuns()
        #expect(state.sum == 9 + 5 + 6)
        let runs = log.runs.sorted
        #expect(runs.map(\.id.number) == [4, 5] && runs.map(\.emissions) == [1, 0])
        #expect(runs[0].end == Run.End(epoch: log.position.epoch, sequence: log.position.sequence, item: [4, 7]))
        #expect(runs[0].action.isEmpty && runs[1].action == [2, 9] && runs[1].end == nil)
        let kept = try #require(log.sessions[session])
        #expect(kept.last == 5 && kept.ackedThrough == 2)
    }

    /// Goal: an acceptance out of order, in no session, or that acknowledges itself is refused; the next is taken
    /// (PROTOCOL ).
    @Test func anAcceptanceIsTheSessionsNext() throws {
        #expect(try problem(accepted(6)) == nil)
        #expect(try problem(accepted(6, acked: 5)) == nil)
        #expect(try problem(accepted(7)) == .outOfRange)
        #expect(try problem(accepted(5)) == .outOfRange)
        #expect(try problem(accepted(0)) == .outOfRange)
        #expect(try problem(accepted(.max)) == .outOfRange)
        #expect(try problem(accepted(6, acked: 6)) == .outOfRange)
        #expect(
            try problem(.accepted(session: .none, number: 1, ackedThrough: 0, action: 0..<0)) == .outOfRange)
    }

    /// Goal: only a run that has not ended emits; other causes always do (PROTOCOL R-60).
    @Test func anEmissionBelongsToARun() throws {
        let one = EffectAction.emission([1])
        func emitted(_ cause: EffectCause, _ content: [UInt8]) throws -> WireError.Problem? {
            try problem(.emitted(cause: cause, mutations: 0..<content.count), content)
        }
        for cause in [EffectCause.action(session, 5), .source("s"), .time, .feedback("f")] {
            #expect(try emitted(cause, one) == nil)
            #expect(try emitted(cause, [0]) == nil, "nothing")
        }
        #expect(try emitted(.action(session, 4), one) == .outOfRange, "it has ended")
        #expect(try emitted(.action(session, 6), one) == .outOfRange)
        #expect(try emitted(.action(.none, 5), one) == .outOfRange)
        #expect(try emitted(.source(String(repeating: "s", count: 65)), one) == .outOfRange)
        #expect(try emitted(.time, []) == .truncated)
        #expect(try emitted(.time, [3, 1, 1]) == .outOfRange)
        #expect(try emitted(.time, [2, 1, 1, 1]) == .truncated)
        #expect(try emitted(.time, one + [0]) == .trailingBytes)
        #expect(try emitted(.time, [1, 2, 1, 1]) == .payload)
    }

    /// Goal: a run ends once, with an item (PROTOCOL R-60).
    @Test func aRunEndsOnce() throws {
        func finished(_ number: RequestNumber, _ item: [UInt8]) throws -> WireError.Problem? {
            try problem(.finished(session: session, number: number, item: 0..<item.count), item)
        }
        for status in [ActionStatus.committed, .rejected, .void] {
            #expect(try finished(5, EffectAction.end(status)) == nil)
        }
        let item = EffectAction.end(adding: [3], reply: [1])
        #expect(try finished(5, item) == nil)
        #expect(try finished(4, item) == .outOfRange, "it has ended")
        #expect(try finished(6, item) == .outOfRange)
        #expect(try finished(5, [3, 0]) == .outOfRange, "no end is accepted")
        #expect(try finished(5, [5, 1, 1, 0]) == .outOfRange, "what failed has no mutations")
        #expect(try finished(5, item + [0]) == .trailingBytes)
        #expect(try finished(5, []) == .truncated)
        let twice = try problem { batch in
            withBytes(of: item) { source in
                for _ in 0..<2 {
                    batch.append(.finished(session: session, number: 5, item: 0..<item.count), source: source)
                }
            }
        }
        guard case .malformed = twice else {
            Issue.record("\(twice as Any)")
            return
        }
    }

    /// Goal: acknowledgements of what does not exist, or has not ended, change nothing (PROTOCOL R-64).
    @Test func anAcknowledgementOfNothingIsNothing() throws {
        var (log, state) = try GoldenVectors.logWithRuns()
        let before = log.runs
        var batch = BatchBuilder(
            store: log.store, epoch: log.position.epoch, after: log.position, time: log.time)
        batch.append(.runAck([RunID(session: session, number: 5), RunID(session: .none, number: 4)]))
        _ = try log.apply(batch.sealed(), to: state)
        #expect(log.runs == before)
    }

    /// Goal: an unknown cause is refused, and no entry after it is read (PROTOCOL R-60).
    @Test func anUnknownCauseIsRefused() {
        for cause in [0, 5, 255] as [UInt8] {
            let bytes: [UInt8] = [EntryKind.emitted.rawValue, cause, 1, 0]
            withBytes(of: bytes) { span in
                var reader = ByteReader(span)
                #expect(throws: WireError.self) { _ = try Entry(from: span, &reader) }
            }
        }
    }

    /// Goal: snapshots of version 3, which name nobody, of version 2, which do not say what was told, and of version 1,
    /// which have no runs either, are still read, and all counts as told; later versions are not read (PROTOCOL R-40,
    /// section 7).
    @Test func olderVersionsAreRead() throws {
        let bytes = try GoldenVectors.snapshot()
        let log = try SnapshotContent(bytes).log
        #expect(log.told == log.known)
        // The empty name of who opened its one session comes after the fields of the opening.
        let opening = GoldenVectors.bytes(of: .sessionOpen(GoldenVectors.open), []).dropFirst()
        let name = try #require(bytes.indices.first { bytes[$0...].starts(with: opening) }) + opening.count
        var older = bytes
        older[4] = 3
        older.remove(at: name)
        #expect(try SnapshotContent(older).log == log)
        older[4] = 2
        older.removeSubrange(120..<168)
        #expect(try SnapshotContent(older).log == log)
        older[4] = 1
        // The empty table stands before the state: its length and eight bytes.
        older.remove(at: older.count - 10)
        #expect(try SnapshotContent(older).log == log)
        for version in [0, 5, 255] as [UInt8] {
            older[4] = version
            #expect(throws: WireError(.wrongVersion, at: 4)) { _ = try SnapshotContent(older) }
        }
    }

    /// Goal: what was told is a place of the snapshot's log, or none (PROTOCOL R-40, section 7).
    @Test func whatWasToldLiesInTheSnapshotsLog() throws {
        let bytes = try GoldenVectors.snapshot()
        // The sequence number of the place, above the snapshot's; then its hash, at the same place.
        for index in [128, 136] {
            var wrong = bytes
            wrong[index] &+= 1
            #expect(throws: WireError.self) { _ = try SnapshotContent(wrong) }
        }
    }

    /// Goal: a snapshot whose runs its sessions cannot have is refused, so that no entry after it meets them
    /// (PROTOCOL ).
    @Test func runsFitTheSessionsOfTheirSnapshot() throws {
        func isRead(session: SessionID, number: UInt64, sequence: UInt64, end: UInt64? = nil) throws -> Bool {
            var table = ByteWriter()
            table.writeVarint(1)
            let fields = [session.epoch.rawValue, session.sequence.rawValue, number, sequence, 1, 0]
            for field in fields { table.writeVarint(field) }
            table.writeBool(end != nil)
            if let end {
                table.writeVarint(GoldenVectors.epoch.rawValue)
                table.writeVarint(end)
                table.writeBytes([0])
            } else {
                table.writeBytes([])
            }
            var bytes = try GoldenVectors.snapshot()
            let place = bytes.count - 10
            bytes.replaceSubrange(place..<place + 1, with: table.bytes)
            return (try? SnapshotContent(bytes)) != nil
        }
        // The session has the numbers 1 to 3, and the log ends at 6.
        #expect(try isRead(session: session, number: 3, sequence: 5))
        #expect(try isRead(session: session, number: 3, sequence: 5, end: 6))
        #expect(try !isRead(session: session, number: 4, sequence: 5))
        #expect(try !isRead(session: session, number: 3, sequence: 7))
        #expect(try !isRead(session: session, number: 3, sequence: 5, end: 7))
        let ended = SessionID(epoch: GoldenVectors.epoch, sequence: SequenceNumber(rawValue: 1))
        #expect(try isRead(session: ended, number: 9, sequence: 5))
        #expect(try !isRead(session: ended, number: 9, sequence: 5, end: 6), "nobody keeps its end")
        let later = SessionID(
            epoch: Epoch(rawValue: GoldenVectors.epoch.rawValue + 1), sequence: SequenceNumber(rawValue: 1))
        #expect(try !isRead(session: later, number: 1, sequence: 5))
    }
}

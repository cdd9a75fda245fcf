import LockstepCore
import Testing

/// The table of accepted actions.
@Suite struct RunTableTests {
    /// A table that is only a list.
    struct Naive {
        struct Entry: Equatable {
            var id: RunID
            var sequence: SequenceNumber
            var action: [UInt8]
            var attempts: UInt64 = 1
            var emissions: UInt64 = 0
            var end: Run.End?
        }
        var entries: [Entry] = []
        var live: Set<SessionID> = []

        func index(_ id: RunID) -> Int? { entries.firstIndex { $0.id == id } }

        mutating func finish(_ id: RunID, _ end: Run.End) -> Bool {
            guard let index = index(id), entries[index].end == nil else { return false }
            entries[index].end = end
            entries[index].action = []
            if !live.contains(id.session) { entries.remove(at: index) }
            return true
        }
    }

    /// A log of runs as the table is used in it: sessions, acceptance, emissions, ends, acknowledgements, boots.
    private struct History {
        var random: SplitMix64
        var log = LogState(store: GoldenVectors.store)
        var naive = Naive()
        let state = CountingState()
        var numbers: [SessionID: RequestNumber] = [:]
        var sessions: [SessionID] = []
        var epoch: UInt64 = 1
        var opened: UInt64 = 0

        init(seed: UInt64) throws {
            random = SplitMix64(seed: seed)
            _ = try apply { $0.append(Self.epochOpen) }
        }

        static let epochOpen = Entry.epochOpen(
            node: "n", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 2))

        mutating func apply(_ body: (inout BatchBuilder) -> Void) throws -> SequenceNumber {
            var batch = BatchBuilder(
                store: log.store, epoch: Epoch(rawValue: epoch), after: log.position, time: log.time)
            body(&batch)
            let sealed = batch.sealed()
            _ = try log.apply(sealed, to: state)
            return sealed.head.last
        }

        mutating func refuses(_ body: (inout BatchBuilder) -> Void) -> Bool {
            let before = log
            do {
                _ = try apply(body)
                return false
            } catch {
                log = before
                return true
            }
        }

        mutating func step() throws {
            let session = sessions.isEmpty ? .none : sessions[Int(random.next(below: UInt64(sessions.count)))]
            let place = naive.entries.isEmpty ? nil : Int(random.next(below: UInt64(naive.entries.count)))
            let id = place.map { naive.entries[$0].id } ?? RunID(session: session, number: 999)
            switch random.next(below: 12) {
            case 0...1: try open()
            case 2...5: if session != .none { try accept(session) }
            case 6: try emit(id)
            case 7...8: try finish(id)
            case 9:
                _ = try apply { $0.append(.runAck([id, RunID(session: session, number: 7_777)])) }
                if let place, naive.entries[place].end != nil { naive.entries.remove(at: place) }
            case 10: if random.next(below: 3) == 0 { try end(session) }
            default:
                guard random.next(below: 3) == 0 else { return }
                epoch += 1
                _ = try apply { $0.append(Self.epochOpen) }
                for index in naive.entries.indices where naive.entries[index].end == nil {
                    naive.entries[index].attempts += 1
                }
            }
        }

        private mutating func open() throws {
            opened += 1
            let nonce = opened
            let sequence = try apply {
                $0.append(
                    .sessionOpen(
                        Open(
                            client: ClientKey(rawValue: 1), nonce: nonce, timeToLive: 1, windowNumbers: 1,
                            windowBytes: 1)))
            }
            let session = SessionID(epoch: Epoch(rawValue: epoch), sequence: sequence)
            sessions.append(session)
            naive.live.insert(session)
        }

        private mutating func accept(_ session: SessionID) throws {
            let number = numbers[session, default: 0] + 1
            let action = (0..<random.next(below: 5)).map { UInt8($0) }
            let entry = Entry.accepted(session: session, number: number, ackedThrough: 0, action: 0..<action.count)
            let isLive = naive.live.contains(session)
            guard isLive else {
                let isRefused = refuses { batch in _ = withBytes(of: action) { batch.append(entry, source: $0) } }
                #expect(isRefused)
                return
            }
            let sequence = try apply { batch in _ = withBytes(of: action) { batch.append(entry, source: $0) } }
            numbers[session] = number
            naive.entries.append(
                Naive.Entry(id: RunID(session: session, number: number), sequence: sequence, action: action))
        }

        private mutating func emit(_ id: RunID) throws {
            let isLive = naive.index(id).map { naive.entries[$0].end == nil } ?? false
            let content = EffectAction.emission([1, 2])
            let append = { (batch: inout BatchBuilder) in
                _ = withBytes(of: content) {
                    batch.append(
                        .emitted(cause: .action(id.session, id.number), mutations: 0..<content.count), source: $0)
                }
            }
            guard isLive, let index = naive.index(id) else {
                let isRefused = refuses(append)
                #expect(isRefused)
                return
            }
            _ = try apply(append)
            naive.entries[index].emissions += 1
        }

        private mutating func finish(_ id: RunID) throws {
            let reply = [UInt8](repeating: 3, count: Int(random.next(below: 4)))
            let item = EffectAction.end(reply: reply)
            let append = { (batch: inout BatchBuilder) in
                _ = withBytes(of: item) {
                    batch.append(
                        .finished(session: id.session, number: id.number, item: 0..<item.count), source: $0)
                }
            }
            var kept = ByteWriter()
            withBytes(of: reply) { ReplyItem.write(.committed, $0, 0..<reply.count, to: &kept) }
            let end = Run.End(epoch: Epoch(rawValue: epoch), sequence: log.position.sequence.next, item: kept.bytes)
            guard naive.finish(id, end) else {
                let isRefused = refuses(append)
                #expect(isRefused)
                return
            }
            _ = try apply(append)
        }

        private mutating func end(_ session: SessionID) throws {
            guard naive.live.remove(session) != nil else { return }
            _ = try apply { $0.append(.sessionClose(session)) }
            naive.entries.removeAll { $0.id.session == session && $0.end != nil }
        }

        func compare() throws {
            log.runs.checkInvariants()
            let table = log.runs.sorted.map {
                Naive.Entry(
                    id: $0.id, sequence: $0.sequence, action: $0.action, attempts: $0.attempts,
                    emissions: $0.emissions, end: $0.end)
            }
            #expect(table == naive.entries.sorted { $0.sequence < $1.sequence })
            #expect(log.runs.count == naive.entries.count)
            for session in sessions {
                #expect(log.runs.count(of: session) == naive.entries.count { $0.id.session == session })
            }
            for entry in naive.entries { #expect(log.runs.isUnfinished(entry.id) == (entry.end == nil)) }
        }
    }

    /// Goal: acceptance, emissions, ends, acknowledgements, the ends of sessions and new epochs do to the table what
    /// they do to a list, and an entry that does not fit is refused (PROTOCOL ).
    @Test(arguments: 0..<60 as Range<UInt64>) func theTableIsAList(seed: UInt64) throws {
        var history = try History(seed: seed)
        for _ in 0..<120 {
            try history.step()
            try history.compare()
        }
    }

    /// Goal: a log with runs comes back from its snapshot as it was, with the same digest (PROTOCOL ).
    @Test(arguments: 100..<120 as Range<UInt64>) func theTableComesBackFromASnapshot(seed: UInt64) throws {
        var history = try History(seed: seed)
        for _ in 0..<100 { try history.step() }
        let bytes = SnapshotContent(log: history.log, digest: .none, state: []).encoded()
        let content = try SnapshotContent(bytes)
        #expect(content.log == history.log)
        #expect(content.log.digest == history.log.digest)
        #expect(content.encoded() == bytes)
        content.log.runs.checkInvariants()
    }

    /// Goal: each field of a run that is no byte of it changes the digest, and their order does not (PROTOCOL R-52).
    @Test func theDigestCoversTheRuns() throws {
        let log = try GoldenVectors.logWithRuns().log
        var digests: Set<Digest> = [log.runs.digest]
        let id = RunID(session: log.sessions.sorted[0].id, number: 5)
        func changed(_ body: (inout BatchBuilder) -> Void) throws {
            var log = log
            var batch = BatchBuilder(
                store: log.store, epoch: log.position.epoch, after: log.position, time: log.time)
            body(&batch)
            _ = try log.apply(batch.sealed(), to: CountingState())
            let isNew = digests.insert(log.runs.digest).inserted
            #expect(isNew)
        }
        let nothing = EffectAction.emission([])
        let item = EffectAction.end()
        try withBytes(of: nothing + item) { source in
            try changed { batch in
                batch.append(.emitted(cause: .action(id.session, 5), mutations: 0..<nothing.count), source: source)
            }
            try changed { batch in
                batch.append(
                    .finished(session: id.session, number: 5, item: nothing.count..<source.byteCount), source: source)
            }
        }
        try changed { $0.append(.runAck([RunID(session: id.session, number: 4)])) }
        let before = log.runs.digest
        #expect(RunTable().digest == .none && before != .none)
    }

    /// Goal: bytes of a table that no log has are refused, whatever is wrong with them (PROTOCOL R-61).
    @Test func impossibleTablesAreRefused() throws {
        func table(_ body: (inout ByteWriter) -> Void) -> WireError.Problem? {
            var writer = ByteWriter()
            body(&writer)
            return withBytes(of: writer.bytes) { bytes in
                var reader = ByteReader(bytes)
                do throws(WireError) {
                    _ = try RunTable(from: bytes, &reader)
                    try reader.finish()
                    return nil
                } catch {
                    return error.problem
                }
            }
        }
        func run(
            _ writer: inout ByteWriter, session: UInt64 = 2, number: UInt64 = 1, sequence: UInt64 = 5,
            attempts: UInt64 = 1, end: UInt64? = nil, item: [UInt8] = [4, 1]
        ) {
            for value in [1, session, number, sequence, attempts, 0] { writer.writeVarint(value) }
            writer.writeBool(end != nil)
            if let end {
                writer.writeVarint(1)
                writer.writeVarint(end)
                writer.writeBytes(item)
            } else {
                writer.writeBytes([9])
            }
        }
        func one(_ body: (inout ByteWriter) -> Void) -> WireError.Problem? {
            table { writer in
                writer.writeVarint(1)
                body(&writer)
            }
        }
        #expect(one { run(&$0) } == nil)
        #expect(one { run(&$0, end: 6) } == nil)
        #expect(one { run(&$0, number: 0) } == .outOfRange)
        #expect(one { run(&$0, number: UInt64(Int64.max)) } == .outOfRange)
        #expect(one { run(&$0, attempts: 0) } == .outOfRange)
        #expect(one { run(&$0, attempts: .max) } == .outOfRange)
        #expect(one { run(&$0, session: 5) } == .outOfRange, "accepted before its session was opened")
        #expect(one { run(&$0, end: 5) } == .outOfRange, "ended where it was accepted")
        #expect(one { run(&$0, end: 6, item: [4]) } != nil)
        #expect(one { run(&$0, end: 6, item: [4, 1, 1]) } == .trailingBytes)
        #expect(table { $0.writeVarint(.max) } == .truncated)
        let isOrdered = table { writer in
            writer.writeVarint(2)
            run(&writer, sequence: 6)
            run(&writer, number: 2, sequence: 5)
        }
        #expect(isOrdered == .outOfRange)
        let isSingle = table { writer in
            writer.writeVarint(2)
            run(&writer)
            run(&writer, sequence: 6)
        }
        #expect(isSingle == .outOfRange)
    }
}

import LockstepCore
import LockstepLaboratory
import Testing

/// Traces of strace are read as they are meant, and what cannot be read is said.
@Suite struct SystemCallTraceTests {
    /// As strace writes a text with `-xx`.
    private static func hexadecimal(_ text: String) -> String {
        text.utf8.map { "\\x" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Reads a text whose last line ends too, unless the trace is said to end in it.
    static func trace(_ text: String, endsInLine: Bool = false) throws -> SystemCallTrace {
        // In these tests a text stands in backquotes, and is put into the trace as strace would.
        var line = ""
        for (index, part) in text.split(separator: "`", omittingEmptySubsequences: false).enumerated() {
            line += index % 2 == 0 ? String(part) : hexadecimal(String(part))
        }
        if !endsInLine { line += "\n" }
        return try SystemCallTrace([UInt8](line.utf8), folder: "/d", notes: "/n")
    }

    /// Goal: each kind of call on the folder becomes its event; others do not.
    @Test func callsBecomeEvents() throws {
        let trace = try Self.trace(
            """
            7 openat(AT_FDCWD</>, "`/d/a`", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 5<`/d/a`>
            7 openat(AT_FDCWD</>, "`/d/a`", O_RDONLY) = 6<`/d/a`>
            7 openat(AT_FDCWD</>, "`/dd/a`", O_RDWR|O_CREAT, 0600) = 8<`/dd/a`>
            7 pwrite64(5<`/d/a`>, "`a,b)=`", 5, 4096) = 5
            7 pwrite64(5<`/d/a`>, "`short`", 5, 0) = 2
            7 pwrite64(8<`/dd/a`>, "`x`", 1, 0) = 1
            7 write(5<`/d/a`>, "`one`", 3) = 3
            7 write(5<`/d/a`>, "`two`", 3) = 3
            7 write(9<`/n`>, "`b 1\n`", 4)     = 4
            7 ftruncate(5<`/d/a`>, 77) = 0
            7 fdatasync(5<`/d/a`>) = 0
            7 openat(AT_FDCWD</>, "`/d`", O_RDONLY|O_CLOEXEC) = 7<`/d`>
            7 fsync(7<`/d`>) = 0
            7 pwrite64(6<`/d/a-shm`>, "`x`", 1, 0) = 1
            7 rename("`/d/a`", "`/d/b`") = 0
            7 unlink("`/d/b`") = 0
            7 +++ exited with 0 +++
            """)
        #expect(
            trace.events == [
                .opened("a", truncates: false), .wrote("a", offset: 4_096, [UInt8]("a,b)=".utf8)),
                .wrote("a", offset: 0, [UInt8]("sh".utf8)), .wrote("a", offset: 0, [UInt8]("one".utf8)),
                .wrote("a", offset: 3, [UInt8]("two".utf8)), .noted("b 1\n"), .truncated("a", size: 77),
                .syncBegan("a", token: 1), .syncEnded("a", token: 1), .syncBegan("", token: 2),
                .syncEnded("", token: 2), .renamed(from: "a", to: "b"), .unlinked("b"),
            ])
        #expect(trace.unfinished == [])
        #expect(trace.callCount == 10)
    }

    /// Goal: a call that failed changed nothing, and neither does one on a file that was deleted.
    @Test func callsThatFailedAreLeftOut() throws {
        let trace = try Self.trace(
            """
            7 openat(AT_FDCWD</>, "`/d/a`", O_RDWR|O_CREAT, 0600) = -1 EACCES (Permission denied)
            7 pwrite64(5<`/d/a`>, "`x`", 1, 0) = -1 EIO (Input/output error)
            7 fdatasync(5<`/d/a`>) = -1 EIO (Input/output error)
            7 unlink("`/d/a`") = -1 ENOENT (No such file or directory)
            7 pwrite64(5<`/d/a`>(deleted), "`x`", 1, 0) = 1
            """)
        #expect(trace.events == [])
    }

    /// Goal: a call that another thread's interrupts in the trace is put together; a sync covers what was written before
    /// it began.
    @Test func callsOfTwoThreadsAreTakenApart() throws {
        let trace = try Self.trace(
            """
            7 fdatasync(5<`/d/a`> <unfinished ...>
            8 pwrite64(5<`/d/a`>, "`x`", 1, 9 <unfinished ...>
            9 unlink("`/d/b`") = 0
            8 <... pwrite64 resumed>) = 1
            7 <... fdatasync resumed>) = 0
            """)
        #expect(
            trace.events == [
                .syncBegan("a", token: 1), .unlinked("b"), .wrote("a", offset: 9, [UInt8]("x".utf8)),
                .syncEnded("a", token: 1),
            ])
    }

    /// Goal: calls in which the process was killed are told apart.
    @Test func callsThatDidNotEndAreToldApart() throws {
        let trace = try Self.trace(
            """
            7 pwrite64(5<`/d/a`>, "`x`", 1, 9 <unfinished ...>
            8 write(1<`/other`>, "`x`", 1 <unfinished ...>
            11 unlink("`/d/c`" <unfinished ...>
            9 ftruncate(5<`/d/a`>, 3)      = ?
            10 unlink("`/d/b`")            = ? <unavailable>
            11 <... unlink resumed>)       = ?
            7 +++ killed by SIGKILL +++
            """)
        #expect(trace.events == [])
        #expect(
            Set(trace.unfinished) == [
                .wrote("a", offset: 9, [UInt8]("x".utf8)), .truncated("a", size: 3), .unlinked("b"), .unlinked("c"),
            ])
    }

    /// Goal: a call at whose beginning the trace ends, since strace was ended by the same signal, was under way.
    @Test(arguments: ["8 pwrite64(5<`/d/a`>, \"`x`\", 1, 9", "8 pwrite64(5<`/d/a`>, \"`x`\", 1, 9 "])
    func theCallThatATraceEndsInWasUnderWay(line: String) throws {
        let trace = try Self.trace("7 unlink(\"`/d/b`\") = 0\n" + line, endsInLine: true)
        #expect(trace.events == [.unlinked("b")])
        #expect(trace.unfinished == [.wrote("a", offset: 9, [UInt8]("x".utf8))])
    }

    /// Goal: what could hide a change is an error.
    @Test(arguments: [
        "7 pwrite64(5<`/d/a`>, 0x1234, 1, 9) = 1", "7 pwrite64(5<`/d/a`>, \"`x`\"..., 1, 9) = 1",
        "7 write(5<`/d/a`>, \"`x`\", 1) = 1", "7 <... pwrite64 resumed>) = 1", "7 fdatasync(5<`/d/a`>",
    ])
    func whatCannotBeReadIsSaid(line: String) {
        #expect(throws: SystemCallTrace.Unreadable.self) { try Self.trace(line) }
    }
}

/// The model of the files keeps what was synced, and nothing else for sure.
@Suite struct RecordedFolderTests {
    private func folder(_ events: [SystemCallTrace.Event]) -> RecordedFolder {
        var folder = RecordedFolder()
        for event in events { _ = folder.apply(event) }
        return folder
    }

    private func image(_ kind: RecordedFolder.Image, _ folder: RecordedFolder, seed: UInt64 = 1) -> [String: [UInt8]] {
        var random = SplitMix64(seed: seed)
        return folder.image(kind, using: &random)
    }

    private func sync(_ name: String, _ token: Int) -> [SystemCallTrace.Event] {
        [.syncBegan(name, token: token), .syncEnded(name, token: token)]
    }

    /// Goal: a file is durable when both its content and its name are synced; what came after is not.
    @Test func onlyWhatIsSyncedIsDurable() {
        var events: [SystemCallTrace.Event] = [.opened("a", truncates: false), .wrote("a", offset: 0, [1, 2])]
        #expect(image(.everything, folder(events)) == ["a": [1, 2]])
        #expect(image(.synced, folder(events)) == [:])
        #expect(image(.synced, folder(events + sync("a", 1))) == [:])
        #expect(image(.synced, folder(events + sync("", 1))) == ["a": []])
        events += sync("a", 1) + sync("", 2)
        #expect(image(.synced, folder(events)) == ["a": [1, 2]])
        #expect(folder(events).isSettled)
        events += [.wrote("a", offset: 3, [4]), .truncated("a", size: 4), .renamed(from: "a", to: "b")]
        #expect(image(.everything, folder(events)) == ["b": [1, 2, 0, 4]])
        #expect(image(.synced, folder(events)) == ["a": [1, 2]])
        #expect(!folder(events).isSettled)
        #expect(image(.synced, folder(events + sync("", 3))) == ["b": [1, 2]])
        events += sync("b", 3) + [.unlinked("b")]
        #expect(image(.everything, folder(events)) == [:])
        #expect(image(.synced, folder(events)) == ["a": [1, 2, 0, 4]])
    }

    /// Goal: a write that ended while a sync was under way is not covered by it.
    @Test func aSyncCoversWhatWasThereWhenItBegan() {
        let events: [SystemCallTrace.Event] =
            [.opened("a", truncates: false)] + sync("", 1) + [
                .wrote("a", offset: 0, [1]), .syncBegan("a", token: 2), .wrote("a", offset: 1, [2]),
                .syncEnded("a", token: 2),
            ]
        #expect(image(.synced, folder(events)) == ["a": [1]])
    }

    /// Goal: every combination of what was not synced comes up, and of a torn write every combination of sectors; what
    /// was synced is never touched.
    @Test func subsetsAndSectorsAreAllTried() {
        let synced: [SystemCallTrace.Event] =
            [.opened("a", truncates: false), .wrote("a", offset: 0, [9, 9, 9, 9])] + sync("a", 1) + sync("", 2)
        let subset = folder(
            synced + [.wrote("a", offset: 0, [1]), .wrote("a", offset: 1, [2]), .truncated("a", size: 2)])
        let subsets = Set((0..<200).compactMap { image(.subset, subset, seed: $0)["a"] })
        #expect(subsets.count == 8)
        #expect(subsets.allSatisfy { $0.count == 2 || $0[2...] == [9, 9] })
        let sectors = folder(synced + [.wrote("a", offset: 500, [UInt8](repeating: 1, count: 600))])
        // From 500 the sectors end at 512, 1,024 and 1,100.
        let kinds = Set(
            (0..<200).compactMap { image(.torn, sectors, seed: $0)["a"] }.map { bytes in
                [500, 512, 1_024].map { $0 < bytes.count && bytes[$0] == 1 }
            })
        #expect(kinds.count == 8)
    }

    /// Goal: calls in which a process ended are taken over as its files show them, and a model that is not what the
    /// files are is an error.
    @Test func theFilesDecideWhatAKilledProcessHasDone() throws {
        let unfinished: [SystemCallTrace.Event] = [.wrote("a", offset: 1, [2]), .unlinked("b")]
        for happened in [true, false] {
            var folder = folder([.opened("a", truncates: false), .wrote("a", offset: 0, [1])])
            let files: [String: [UInt8]] = ["a": happened ? [1, 2] : [1]]
            try folder.end(with: unfinished, files: files, notes: "b 0\nd 0\nb 1\n")
            #expect(image(.everything, folder) == files)
            #expect(folder.notes.done == 0 && folder.notes.begun == 1)
            #expect(throws: RecordedFolder.Difference.self) { try folder.end(with: [], files: ["a": [7]], notes: "") }
            #expect(throws: RecordedFolder.Difference.self) { try folder.end(with: [], files: [:], notes: "") }
        }
    }
}

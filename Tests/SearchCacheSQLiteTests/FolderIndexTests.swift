import Foundation
import GRDB
import SearchCache
import SearchCacheSQLite
import Testing

/// Goal: the index follows its folders, reads no more than it has to, and survives what interrupts it.
@Suite(.timeLimit(.minutes(5))) struct FolderIndexTests {
    /// A second update reads nothing, and searches that were answered before are still right.
    @Test func secondUpdateFindsNothingToDo() async throws {
        let folder = try TextFolder()
        try folder.write("a.txt", "alpha")
        try folder.write("deep/er/b.txt", "beta")
        let index = try folder.index()
        let first = try await index.update(folder: folder.path)
        #expect(first.seen == 2 && first.indexed == 2 && first.textBytes == 9)
        let generation = try await index.content().generation

        let second = try await index.update(folder: folder.path)
        #expect(second.seen == 2 && second.unchanged == 2 && second.indexed == 0 && second.removed == 0)
        #expect(try await index.content().generation == generation)
        #expect(try await index.titles("beta") == ["deep/er/b.txt"])
    }

    /// Each kind of change has its effect and no other.
    @Test func updateFollowsChangedRemovedRenamedAndTouchedFiles() async throws {
        let folder = try TextFolder()
        for name in ["changed", "removed", "renamed", "touched", "same"] {
            try folder.write(name, "word \(name)1")
        }
        let index = try folder.index()
        try await index.update(folder: folder.path)
        try folder.write("changed", "word changed2", hoursOld: 50)
        try folder.remove("removed")
        try folder.move("renamed", to: "other")
        try folder.touch("touched", hoursOld: 40)
        try folder.write("new", "word new1")

        let report = try await index.update(folder: folder.path)
        #expect(report.indexed == 3 && report.unchanged == 2 && report.removed == 2)
        #expect(try await index.titles("word") == ["changed", "new", "other", "same", "touched"])
        #expect(try await index.titles("changed1") == [])
        #expect(try await index.titles("changed2") == ["changed"])
        #expect(try await index.titles("removed1") == [])
        #expect(try await index.titles("renamed1") == ["other"])
        #expect(try await index.content().texts == 5)
    }

    /// A file whose time alone is new is read, and nobody's answer becomes old for it.
    @Test func touchedFileIsReadOnceAndChangesNoAnswer() async throws {
        let folder = try TextFolder()
        try folder.write("a", "alpha")
        let index = try folder.index()
        try await index.update(folder: folder.path)
        let etag = try await index.page("alpha").etag
        try folder.touch("a", hoursOld: 1)
        #expect(try await index.update(folder: folder.path).unchanged == 1)
        #expect(try await index.page("alpha").etag == etag)
        // Same size and time, another content: only a stamp that was renewed hides it.
        try folder.write("a", "gamma", hoursOld: 1)
        #expect(try await index.update(folder: folder.path).unchanged == 1)
        #expect(try await index.titles("alpha") == ["a"])
    }

    /// A file that was written just now may change again without a new time, so it is not trusted.
    @Test func youngFileIsReadAgain() async throws {
        for _ in 1...10 {
            let folder = try TextFolder()
            let index = try folder.index()
            try folder.write("a", "alpha")
            let written = Date()
            let now = [FileAttributeKey.modificationDate: written]
            try FileManager.default.setAttributes(now, ofItemAtPath: folder.path + "/a")
            try await index.update(folder: folder.path)
            // On a slow machine it may have been two seconds old, which is old enough.
            guard Date().timeIntervalSince(written) < 1.9 else { continue }
            try folder.write("a", "gamma")
            try FileManager.default.setAttributes(now, ofItemAtPath: folder.path + "/a")
            #expect(try await index.update(folder: folder.path).indexed == 1)
            #expect(try await index.titles("gamma") == ["a"])
            return
        }
        Issue.record("no file was young long enough")
    }

    /// What was committed before a cancellation is there, and the next update does the rest only.
    @Test func cancelledUpdateLeavesItsPartsAndGoesOn() async throws {
        let folder = try TextFolder()
        for number in 0..<600 { try folder.write("\(number)", "common number\(number)") }
        let index = try folder.index()
        await #expect(throws: CancellationError.self) {
            try await withThrowingTaskGroup { group in
                group.addTask {
                    try await index.update(folder: folder.path) { progress in
                        if progress.indexed > 0 { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(try await index.page("common").total == 256)
        let report = try await index.update(folder: folder.path)
        #expect(report.unchanged == 256 && report.indexed == 344 && report.removed == 0)
        #expect(try await index.page("common").total == 600)
    }

    /// The files as a killed process leaves them, between two parts, are an index.
    @Test func filesOfAKilledProcessAreAnIndex() async throws {
        let folder = try TextFolder()
        for number in 0..<600 { try folder.write("\(number)", "common number\(number)") }
        try folder.write("gone", "common")
        let index = try folder.index()
        try await index.update(folder: folder.path)
        try folder.remove("gone")
        for number in 0..<600 { try folder.write("\(number)", "other number\(number)", hoursOld: 50) }
        let copy = folder.base + "/copy.db"
        let failures = Reports()
        try await index.update(folder: folder.path) { progress in
            guard progress.indexed == 512 else { return }
            do {
                for suffix in ["", "-wal"] {
                    try FileManager.default.copyItem(atPath: folder.indexPath + suffix, toPath: copy + suffix)
                }
            } catch { failures.add(progress) }
        }
        #expect(failures.all.isEmpty)

        let left = try FolderIndex(path: copy)
        #expect(try await left.page("other").total == 512)
        #expect(try await left.page("common").total == 89)
        let report = try await left.update(folder: folder.path)
        #expect(report.indexed == 88 && report.unchanged == 512 && report.removed == 1)
        #expect(try await left.page("common").total == 0)
    }

    /// Searches are answered from the last part that was committed, while the next one is written.
    @Test func searchesAreAnsweredWhileAnUpdateRuns() async throws {
        let folder = try TextFolder()
        for number in 0..<600 { try folder.write("\(number)", "common number\(number)") }
        let index = try folder.index()
        let reader = try folder.index(isReadOnly: true)
        let (steps, step) = AsyncStream.makeStream(of: IndexProgress.self)
        let isSearched = DispatchSemaphore(value: 0)
        try await withThrowingTaskGroup { group in
            group.addTask {
                defer { step.finish() }
                try await index.update(folder: folder.path) { progress in
                    step.yield(progress)
                    isSearched.wait()
                }
            }
            var seen: [Int] = []
            for await progress in steps {
                for index in [index, reader] {
                    let page = try await index.page("common", hitsPerPage: 10)
                    #expect(page.total == progress.indexed)
                    #expect(page.hits.count == min(10, progress.indexed))
                }
                seen.append(progress.indexed)
                isSearched.signal()
            }
            try await group.waitForAll()
            #expect(seen == [0, 256, 512, 600, 600])
        }
    }

    /// Progress begins with the totals, never falls, and ends complete.
    @Test func progressEndsAtItsTotal() async throws {
        let folder = try TextFolder()
        for number in 0..<300 { try folder.write("\(number)", "number\(number)") }
        let reports = Reports()
        let index = try folder.index()
        try await index.update(folder: folder.path) { reports.add($0) }
        let all = reports.all
        #expect(all.allSatisfy { $0.total == 300 && $0.totalBytes == all[0].totalBytes })
        #expect(all.map(\.seen) == all.map(\.seen).sorted() && all.map(\.bytes) == all.map(\.bytes).sorted())
        #expect(all.first?.seen == 0 && all.first?.fraction == 0)
        #expect(all.last?.seen == 300 && all.last?.indexed == 300 && all.last?.fraction == 1)
    }

    // MARK: - Sources

    /// Two folders share an index; each update speaks for its own, and one can be forgotten.
    @Test func foldersDoNotTouchEachOther() async throws {
        let folder = try TextFolder()
        let other = try TextFolder()
        try folder.write("a", "common")
        try other.write("a", "common")
        let index = try folder.index()
        try await index.update(folder: folder.path)
        try await index.update(folder: other.path)
        #expect(try await index.page("common").total == 2)
        try other.remove("a")
        #expect(try await index.update(folder: other.path).removed == 1)
        #expect(try await index.page("common").hits.map(\.url) == ["file://\(folder.path)/a"])
        #expect(try await index.remove(folder: folder.path) == 1)
        let error = await #expect(throws: FolderIndexError.self) { try await index.remove(folder: folder.path) }
        #expect(error?.kind == .source && error?.message.contains(other.path) == true)
        #expect(try await index.content().sources.map(\.path) == [other.path])
        #expect(try await index.page("common").total == 0)
    }

    /// A folder within another one would give each text twice.
    @Test func overlappingFoldersAreRefused() async throws {
        let folder = try TextFolder()
        try folder.write("inner/a", "alpha")
        try folder.write("innermost/a", "alpha")
        let index = try folder.index()
        try await index.update(folder: folder.path + "/inner")
        try await index.update(folder: folder.path + "/innermost")
        let error = await #expect(throws: FolderIndexError.self) { try await index.update(folder: folder.path) }
        #expect(error?.kind == .source)
        await #expect(throws: FolderIndexError.self) { try await index.update(folder: folder.path + "/inner/a") }
        #expect(try await index.page("alpha").total == 2)
    }

    /// A folder that is not there is an error, and not the end of everything that was indexed.
    @Test func missingFolderIsAnErrorAndForgetsNothing() async throws {
        let folder = try TextFolder()
        try folder.write("in/a", "alpha")
        let index = try folder.index()
        try await index.update(folder: folder.path + "/in")
        try folder.move("in", to: "away")
        let error = await #expect(throws: FolderIndexError.self) { try await index.update(folder: folder.path + "/in") }
        #expect(error?.kind == .source)
        #expect(try await index.titles("alpha") == ["a"])
        // It has no canonical path any more, however it is written.
        #expect(try await index.remove(folder: folder.path + "/.//in/") == 1)
    }

    #if os(Linux)
        /// Names that look the same are the names of two folders where a file system goes by their bytes.
        @Test func namesAreComparedByTheirBytes() async throws {
            let folder = try TextFolder()
            let paths = ["caf\u{e9}", "cafe\u{301}"].map { folder.path + "/" + $0 }
            #expect(paths[0] == paths[1])
            let index = try folder.index()
            for path in paths {
                #expect(mkdir(path, 0o700) == 0)
                let descriptor = open(path + "/one", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
                #expect(descriptor >= 0)
                close(descriptor)
                #expect(try await index.update(folder: path).indexed == 1)
            }
            let sources = try await index.content().sources
            #expect(Set(sources.map { Array($0.path.utf8) }) == Set(paths.map { Array($0.utf8) }))
            #expect(sources.map(\.texts) == [1, 1])
        }
    #endif

    // MARK: - The file

    /// Files of other programs, and of the future, are refused and left as they are.
    @Test func foreignAndNewerFilesAreRefusedUnchanged() async throws {
        let folder = try TextFolder()
        try Data("no database, but long enough for a header of SQLite, were it one".utf8).write(
            to: URL(fileURLWithPath: folder.base + "/text"))
        let foreign = try DatabaseQueue(path: folder.base + "/foreign")
        try await foreign.write { try $0.execute(sql: "CREATE TABLE t(x); PRAGMA application_id = 77") }
        try foreign.close()
        let unnamed = try DatabaseQueue(path: folder.base + "/unnamed")
        try await unnamed.write { try $0.execute(sql: "CREATE TABLE t(x)") }
        try unnamed.close()
        try FolderIndex(path: folder.base + "/newer").close()
        let newer = try DatabaseQueue(path: folder.base + "/newer")
        try await newer.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 2") }
        try newer.close()

        let kinds: [(String, FolderIndexError.Kind)] = [
            ("text", .foreign), ("foreign", .foreign), ("unnamed", .foreign), ("newer", .newer),
        ]
        for (name, kind) in kinds {
            let path = folder.base + "/" + name
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let error = #expect(throws: FolderIndexError.self) { try FolderIndex(path: path) }
            #expect(error?.kind == kind)
            #expect(error?.message.contains(path) == true)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    /// A reader makes no index, and brings none up to date.
    @Test func readerNeedsAnIndexAndDoesNotWrite() async throws {
        let folder = try TextFolder()
        let missing = #expect(throws: FolderIndexError.self) { try folder.index(isReadOnly: true) }
        #expect(missing?.kind == .missing)
        #expect(!FileManager.default.fileExists(atPath: folder.indexPath))
        try folder.write("a", "alpha")
        let index = try folder.index()
        try await index.update(folder: folder.path)
        try index.close()
        let reader = try folder.index(isReadOnly: true)
        #expect(try await reader.titles("alpha") == ["a"])
        let error = await #expect(throws: FolderIndexError.self) { try await reader.update(folder: folder.path) }
        #expect(error?.kind == .readOnly)
    }

    /// Two processes at once would forget what the other one found.
    @Test func secondProcessIsToldToWait() async throws {
        let folder = try TextFolder()
        let index = try folder.index()
        let lock = open(folder.indexPath + "-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let error = await #expect(throws: FolderIndexError.self) { try await index.update(folder: folder.path) }
        #expect(error?.kind == .inUse)
        close(lock)
        try await index.update(folder: folder.path)
    }

    /// An index below the folder that it is of is not in itself.
    @Test func indexDoesNotIndexItself() async throws {
        let folder = try TextFolder()
        try folder.write("a", "alpha")
        let index = try FolderIndex(path: folder.path + "/index.db")
        #expect(try await index.update(folder: folder.path).seen == 1)
        #expect(try await index.update(folder: folder.path).seen == 1)
    }
}

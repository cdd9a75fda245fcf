import Foundation
import SearchCache
import SearchCacheSQLite
import Testing

/// Goal: what is text is found, what is not is left out, and no file ends an update or leads out of its folder.
@Suite(.timeLimit(.minutes(5))) struct IndexedFilesTests {
    private func indexed(
        _ limit: Int = 4 << 20, _ write: (TextFolder) throws -> Void
    ) async throws -> (TextFolder, FolderIndex, IndexReport) {
        let folder = try TextFolder()
        try write(folder)
        let index = try folder.index()
        let report = try await index.update(folder: folder.path, textLimit: limit)
        return (folder, index, report)
    }

    // MARK: - Text

    /// A NUL at the beginning, or many control characters, are no text; the next update does not read them again.
    @Test func binaryFilesAreSkippedAndRemembered() async throws {
        let (folder, index, report) = try await indexed { folder in
            try folder.write("image.png", [0x89, 0x50, 0x4E, 0x47, 0, 0] + Array("alpha".utf8))
            try folder.write("utf16", "alpha".utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] })
            try folder.write("controls", Array("alpha ".utf8) + [1, 2, 3, 4])
            try folder.write("late", Array(repeating: 97, count: 8_191) + [0] + Array(" alpha".utf8))
            try folder.write("text", "alpha")
            try folder.write("empty", "")
        }
        #expect(report.binary == 4 && report.indexed == 2 && report.unreadable == 0)
        #expect(try await index.titles("alpha") == ["text"])
        #expect(try await index.titles("empty") == ["empty"])
        let second = try await index.update(folder: folder.path)
        #expect(second.binary == 0 && second.unchanged == 6)
        // And a file may become text, or stop being one.
        try folder.write("controls", "alpha", hoursOld: 1)
        try folder.write("text", [0, 1], hoursOld: 1)
        let third = try await index.update(folder: folder.path)
        #expect(third.indexed == 1 && third.binary == 1 && third.removed == 1)
        #expect(try await index.titles("alpha") == ["controls"])
    }

    /// A NUL after the sample is one odd byte: what follows it is found too.
    @Test func nulAfterTheSampleCutsNothing() async throws {
        let (_, index, _) = try await indexed { folder in
            try folder.write("late", Array(repeating: 32, count: 9_000) + [0] + Array(" alpha".utf8))
        }
        #expect(try await index.titles("alpha") == ["late"])
    }

    /// Words of UTF-8, of Latin-1, and of both in one file are found, with their diacritics or without.
    @Test func encodingsAndDiacriticsAreUnderstood() async throws {
        let (_, index, _) = try await indexed { folder in
            try folder.write("utf8", "Der Größte, ΣΊΣΥΦΟΣ, việt")
            try folder.write("latin1", [0x47, 0x72, 0xF6, 0xDF, 0x74, 0x65])
            let mixed = Array("Größte ".utf8) + [0x4D, 0xFC, 0x6C, 0x6C, 0x65, 0x72]
            try folder.write("mixed", mixed)
            // 0x93 is a quotation mark of Windows: one of many bytes does no harm.
            try folder.write("windows", [0x93] + Array(repeating: 32, count: 300) + Array("naïve".utf8))
        }
        #expect(try await index.titles("größte") == ["latin1", "mixed", "utf8"])
        #expect(try await index.titles("GROßTE") == ["latin1", "mixed", "utf8"])
        #expect(try await index.titles("muller") == ["mixed"])
        #expect(try await index.titles("viet") == ["utf8"])
        #expect(try await index.titles("naive") == ["windows"])
        #expect(try await index.titles("σίσυφοσ") == ["utf8"])
    }

    /// Of a text over the limit the beginning is found, also if the limit cuts a character.
    @Test func longTextsAreIndexedUpToTheLimit() async throws {
        let (folder, index, report) = try await indexed(1_024) { folder in
            try folder.write("exact", "alpha " + String(repeating: "x", count: 1_024 - 11) + " beta")
            try folder.write("long", "alpha " + String(repeating: "x", count: 1_024 - 10) + " beta")
            // Two bytes each, from an odd place on.
            try folder.write("cut", "alpha.." + String(repeating: "é", count: 5_000) + " beta")
        }
        #expect(report.cut == 2 && report.indexed == 3 && report.binary == 0)
        #expect(try await index.titles("alpha") == ["cut", "exact", "long"])
        #expect(try await index.titles("beta") == ["exact"])
        // Another limit is another text.
        #expect(try await index.update(folder: folder.path, textLimit: 1 << 20).indexed == 2)
        #expect(try await index.titles("beta") == ["cut", "exact", "long"])
    }

    // MARK: - What is packed

    /// A sentence three times, and two words; as it is and with a name, and with the fixed codes.
    private static let archives = [
        """
        H4sICAAAAAAAA3N0b3JlZAABvQBC/1RoZSB3YWxydXMgYW5kIHRoZSBjYXJwZW50ZXIgd2VyZSB3YWxraW5nIGNsb3NlIGF0IGhh\
        bmQuIFRoZSB3YWxydXMgYW5kIHRoZSBjYXJwZW50ZXIgd2VyZSB3YWxraW5nIGNsb3NlIGF0IGhhbmQuIFRoZSB3YWxydXMgYW5k\
        IHRoZSBjYXJwZW50ZXIgd2VyZSB3YWxraW5nIGNsb3NlIGF0IGhhbmQuIMOcbsOvY29kZSB3w7ZyZHMuCmbzxWq9AAAA
        """,
        """
        H4sIAAAAAAAAAwvJSFUoT8wpKi1WSMxLUSgBcpMTiwpS80pSixTKU4vAstmZeekKyTn5xakKiSUKGUCFegohdNd4eE7e4fXJ+SlA\
        BYe3FaUU63EBAGbzxWq9AAAA
        """,
    ]
    /// Words of the letters a to j, packed with codes of its own.
    private static let coded = """
        H4sIAAAAAAAAA11U2xHDMAhbhdXA2Bj2H6A8nbt+NDnjAEISxYvbzOCYbtiLcRMBEXqYQUV5b79kBlprvwBfkq2AnTzhTQJrHTK4\
        V4FsHSDcCLzgHNqwbp3tLtBj52amXvYsZYTFcS8HdKmyYJbRQxeEX0yYbtyAecWEjSSE3BW9qfggYi8hkdsi9c4T6yMbHcTvnejm\
        myyy9r5eNRgojAkn2y5U9N4r4mDqYZ9PyJQN8JjsHobYBO6Rg1NCDPPjrKWGAiLrY9N8Dn+hOAotsrzDnI9eZWo9Oub0oNhJdgIc\
        O220VBy5c18dkraZrSDMqcZJ4cYCOU/REdn42cRrhywOPwmYhBS4eG9Qb55G4pLlRxP/0yBnbDs0i3OVms7By7BzYpoGKNGbk5yj\
        mOZNbtASoKv1gHQSv8knXuYNGa9pWCeka67yORlRJX4hTpd/1AZfyRBnDfVyQsVl8ZOQN4o2zWmDqPb2I+YtwabhM643LK8F+cln\
        L2OJ1QR201jIsmJZrSYJgLmc677VjZsdkHuanHyUKtsOlLc03TeMmECy5t9G37ov7sMztU8h3axkQW3XNpzKLhFv71uYvDZ9/p/a\
        8/5Bwa9RywDjy+L57xTPHyKQYCD6BAAA
        """

    private static func bytes(_ base64: String) throws -> [UInt8] { Array(try #require(Data(base64Encoded: base64))) }

    /// Each of deflate's blocks is unpacked, members follow each other, and the limit holds for what comes out.
    @Test func gzipFilesAreUnpacked() async throws {
        let archives = try Self.archives.map(Self.bytes)
        let coded = try Self.bytes(Self.coded)
        let (_, index, report) = try await indexed(1_024) { folder in
            for (number, archive) in archives.enumerated() { try folder.write("\(number).gz", archive) }
            try folder.write("coded.gz", coded)
            try folder.write("both.gz", archives[0] + archives[1])
            try folder.write("padded.gz", archives[1] + [UInt8](repeating: 0, count: 20))
            try folder.write("plain.gz", "walrus")
        }
        #expect(report.indexed == 6 && report.cut == 1)
        #expect(try await index.titles("\"walrus and the carpenter\"") == ["0.gz", "1.gz", "both.gz", "padded.gz"])
        #expect(try await index.titles("wörds") == ["0.gz", "1.gz", "both.gz", "padded.gz"])
        #expect(try await index.titles("\"words the walrus\"") == ["both.gz"])
        #expect(try await index.titles("walrus plain") == ["plain.gz"])
        // The first of its words, and the last, which is past the limit.
        #expect(try await index.titles("\"ahaejjj fjie ecdaebb bbahaed\"") == ["coded.gz"])
        #expect(try await index.titles("\"hfgfa ecdaebb eagib ecdaebb eagib eagib\"") == [])
    }

    /// Whatever is wrong with an archive, it is left out; a cut one does not give its beginning for the whole.
    @Test func damagedArchivesAreLeftOut() async throws {
        let sound = try Self.bytes(Self.coded)
        let (_, index, report) = try await indexed { folder in
            for count in stride(from: 2, to: sound.count, by: 7) {
                try folder.write("cut\(count).gz", sound.prefix(count))
            }
            // Not in the header, where the time and the system may be anything.
            for position in 10..<sound.count {
                var bytes = sound
                bytes[position] ^= UInt8(1 << (position % 8))
                try folder.write("flip\(position).gz", bytes)
            }
            try folder.write("sound.gz", sound)
        }
        #expect(report.indexed == 1 && report.binary == report.seen - 1 && report.seen > 500)
        #expect(try await index.titles("ecdaebb") == ["sound.gz"])
    }

    // MARK: - What is not a file

    /// No link is followed: not out of the folder, not in circles, not to a file twice; and pipes are left alone.
    @Test func linksAndPipesAreNotFollowed() async throws {
        let outside = try TextFolder()
        try outside.write("secret", "alpha outside")
        let (folder, index, report) = try await indexed { folder in
            try folder.write("in/a", "alpha")
            let links = [
                ("out", outside.path), ("in/file", outside.path + "/secret"), ("in/circle", folder.path),
                ("in/up", ".."), ("same", "in/a"), ("nowhere", "not there"), ("self", "self"),
            ]
            for (name, target) in links {
                try FileManager.default.createSymbolicLink(
                    atPath: folder.path + "/" + name, withDestinationPath: target)
            }
            #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
        }
        #expect(report.seen == 1 && report.unreadable == 0)
        #expect(try await index.titles("alpha") == ["in/a"])
        // The folder itself may be named by a link.
        try FileManager.default.createSymbolicLink(
            atPath: folder.base + "/link", withDestinationPath: folder.path)
        #expect(try await index.update(folder: folder.base + "/link").unchanged == 1)
        // A file that became a link is gone.
        try folder.remove("in/a")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/in/a", withDestinationPath: outside.path + "/secret")
        #expect(try await index.update(folder: folder.path).removed == 1)
    }

    /// Names that are not UTF-8, and paths that the system does not take, are counted and named.
    @Test func namesThatCannotBeUsedAreCounted() async throws {
        let (folder, index, report) = try await indexed { folder in
            try folder.write("a b#%ü.txt", "alpha")
            let path = Array(folder.path.utf8CString.dropLast()) + [47, CChar(bitPattern: 0xFF), 0]
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            #expect(descriptor >= 0)
            close(descriptor)
            // Deeper than any path may be: made from folder to folder.
            var parent = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            let name = String(repeating: "d", count: 250)
            for _ in 0..<20 {
                #expect(mkdirat(parent, name, 0o700) == 0)
                let child = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                close(parent)
                parent = child
            }
            close(parent)
        }
        defer {
            // By a program that takes no paths as long as this one.
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/rm")
            process.arguments = ["-rf", folder.path]
            do {
                try process.run()
                process.waitUntilExit()
            } catch { Issue.record(error) }
        }
        #expect(report.indexed == 1 && report.unreadable == 2 && report.failures.count == 2)
        #expect(report.failures.contains { $0.path == "\u{FFFD}" })
        #expect(report.failures.contains { $0.path.hasPrefix("dddd") && !$0.reason.isEmpty })
        let hit = try #require(try await index.page("alpha").hits.first)
        #expect(
            hit == SearchHit(title: "a b#%ü.txt", url: "file://\(folder.path)/a%20b%23%25%C3%BC.txt", snippet: "alpha"))
    }

    /// What may not be read is counted; below a folder that cannot be listed everything stays.
    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func unreadableFilesAreCountedAndUnreadableFoldersKept() async throws {
        let (folder, index, report) = try await indexed { folder in
            for name in ["closed/a", "closed/in/b", "closed0", "file", "open"] { try folder.write(name, "alpha") }
        }
        #expect(report.indexed == 5)
        try folder.write("file", "alpha2", hoursOld: 1)
        #expect(chmod(folder.path + "/closed", 0) == 0)
        #expect(chmod(folder.path + "/file", 0) == 0)
        let closed = try await index.update(folder: folder.path)
        #expect(chmod(folder.path + "/closed", 0o700) == 0)
        #expect(closed.unreadable == 2 && closed.removed == 1 && closed.unchanged == 2)
        #expect(Set(closed.failures.map(\.path)) == ["closed", "file"])
        #expect(try await index.titles("alpha") == ["closed/a", "closed/in/b", "closed0", "open"])
        #expect(chmod(folder.path + "/file", 0o600) == 0)
        #expect(try await index.update(folder: folder.path).indexed == 1)
        #expect(try await index.titles("alpha2") == ["file"])
    }

    /// Nothing in a folder without the right to search it can be looked at: what is below its folders stays.
    @Test(.enabled(if: geteuid() != 0, "root may look at everything"))
    func foldersThatCannotBeLookedAtAreKept() async throws {
        let (folder, index, report) = try await indexed { folder in
            for name in ["closed/a", "closed/in/b", "closed/in/c/d", "open"] { try folder.write(name, "alpha") }
        }
        #expect(report.indexed == 4)
        #expect(chmod(folder.path + "/closed", 0o444) == 0)
        let closed = try await index.update(folder: folder.path)
        #expect(chmod(folder.path + "/closed", 0o700) == 0)
        #expect(Set(closed.failures.map(\.path)) == ["closed/a", "closed/in"])
        #expect(closed.unreadable == 2 && closed.removed == 1 && closed.unchanged == 1)
        #expect(try await index.titles("alpha") == ["closed/in/b", "closed/in/c/d", "open"])
        #expect(try await index.update(folder: folder.path).indexed == 1)
    }

    // MARK: - Control files

    private static let control = """
        # packages
        Package: walrus
        Status: install ok installed
        Version: 1.0-1
        Architecture: amd64
        Description: animal of the sea
         It eats oysters.
         .
         And it talks of cabbages.
        Homepage: https://walrus.example

        Package: carpenter
        Version: 2
        Description-md5: 0123456789abcdef
        Description-en: man with a saw
         He eats oysters too.


        Package: lonely
        Version: 3

        """

    /// Each paragraph is a text: the name is its title, the description its body, and no other field is found.
    @Test func controlFileGivesATextForEachPackage() async throws {
        let folder = try TextFolder()
        try folder.write("status", Self.control)
        let index = try folder.index()
        let report = try await index.update(folder: folder.path + "/status")
        #expect(report.seen == 3 && report.indexed == 3)
        let page = try await index.page("oysters cabbages")
        #expect(
            page.hits == [
                SearchHit(
                    title: "walrus", url: "file://\(folder.path)/status#walrus_1.0-1_amd64",
                    snippet: "animal of the sea It eats oysters. And it talks of cabbages.")
            ])
        #expect(try await index.titles("eats") == ["carpenter", "walrus"])
        #expect(try await index.titles("lonely") == ["lonely"])
        for word in ["installed", "amd64", "example", "0123456789abcdef", "packages"] {
            #expect(try await index.titles(word) == [])
        }
    }

    /// A package that changed, went, or came is the only one that is written; a second paragraph of one is left out.
    @Test func controlFileIsFollowedByParagraph() async throws {
        let folder = try TextFolder()
        let twins = "\nPackage: twin\nDescription: one\n\nPackage: twin\nDescription: two\n"
        try folder.write("status", Self.control + twins)
        let index = try folder.index()
        #expect(try await index.update(folder: folder.path + "/status").duplicates == 1)
        let generation = try await index.content().generation
        let second = try await index.update(folder: folder.path + "/status")
        #expect(second.indexed == 0 && second.unchanged == 4 && second.duplicates == 1)
        #expect(try await index.content().generation == generation)
        #expect(try await index.titles("twin one") == ["twin"])
        #expect(try await index.titles("twin two") == [])

        let changed = Self.control.replacing("man with a saw", with: "man with a hammer").replacing(
            "lonely", with: "new")
        try folder.write("status", changed)
        let third = try await index.update(folder: folder.path + "/status")
        #expect(third.indexed == 2 && third.unchanged == 1 && third.removed == 2)
        #expect(try await index.titles("hammer") == ["carpenter"])
        #expect(try await index.titles("saw") == [])
    }

    /// A control file that became an ordinary one, and back, keeps nothing of what it was.
    @Test func fileMayStopBeingAControlFile() async throws {
        let folder = try TextFolder()
        try folder.write("status", Self.control)
        let index = try folder.index()
        try await index.update(folder: folder.path + "/status")
        try folder.write("status", "The package of oysters")
        #expect(try await index.update(folder: folder.path + "/status").indexed == 1)
        #expect(try await index.page("oysters").hits.map(\.url) == ["file://\(folder.path)/status"])
        try folder.write("status", Self.control)
        #expect(try await index.update(folder: folder.path + "/status").indexed == 3)
        #expect(try await index.titles("oysters") == ["carpenter", "walrus"])
    }
}

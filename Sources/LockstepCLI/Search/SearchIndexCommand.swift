import Foundation
import LockstepServer
import SearchCacheSQLite

extension SearchCommand {
    /// `lockstep search index`.
    struct Index: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Puts the texts below a folder into an index; a second run takes what has changed.",
            discussion: """
                A control file of a Debian machine is taken apart into its packages. It may run while a primary searches the \
                index; after a kill the next run goes on.

                  lockstep search index /usr/share/doc --index data/doc.index
                  lockstep search index /var/lib/dpkg/status --index data/doc.index
                """)
        @Argument(help: "The folder, or one file.")
        var folder: String
        @Option(help: "The index's file; it is made if it is not there.")
        var index: String = "search.index"
        @Option(help: "Of longer texts only so many KiB are taken: 1 to 262144.", transform: Within.whole(1...262_144))
        var textKibibytes: Int = 4_096
        @Flag(help: "Take the folder's texts out again.")
        var remove = false
        @Flag(help: "Print JSON.")
        var json = false

        func run() async throws {
            do { try await update() } catch let error as FolderIndexError {
                throw CommandFailure(error.message, status: error.kind == .source ? .usage : .failed)
            }
        }

        private func update() async throws {
            let file = try FolderIndex(path: index)
            if remove {
                let count = try await file.remove(folder: folder)
                try file.close()
                if json { try Output.json(["removed": count]) } else { Output.line("\(count) texts are forgotten") }
                return
            }
            let report = try await file.update(folder: folder, textLimit: textKibibytes << 10) { progress in
                Output.progress(Self.bar(progress))
            }
            Output.progress("")
            let content = try await file.content()
            try file.close()
            let line = IndexLine(report, content)
            if json { try Output.json(line) } else { line.lines.forEach(Output.line) }
        }

        /// `[=======>      ]  52 %  12034 of 24022 texts`.
        private static func bar(_ progress: IndexProgress) -> String {
            let width = 30
            let done = Int(progress.fraction * Double(width))
            let line = String(repeating: "=", count: done) + String(repeating: " ", count: width - done)
            let percent = Int(progress.fraction * 100)
            guard let total = progress.total else { return "looking: \(progress.seen) files" }
            return "[\(line)] \(percent) %  \(progress.seen) of \(total) files, \(progress.indexed) read"
        }
    }
}

/// What indexing came to.
private struct IndexLine: Encodable {
    var seen: Int
    var indexed: Int
    var unchanged: Int
    var removed: Int
    var binary: Int
    var cut: Int
    var unreadable: Int
    var failures: [String]
    var textBytes: Int64
    var seconds: Double
    var texts: Int
    var indexBytes: Int64

    init(_ report: IndexReport, _ content: IndexContent) {
        seen = report.seen
        indexed = report.indexed
        unchanged = report.unchanged
        removed = report.removed
        binary = report.binary
        cut = report.cut
        unreadable = report.unreadable
        failures = report.failures.map { "\($0.path): \($0.reason)" }
        textBytes = report.textBytes
        seconds = report.duration / .seconds(1)
        texts = content.texts
        indexBytes = content.bytes
    }

    var lines: [String] {
        var lines = [
            "\(indexed) texts read, \(unchanged) unchanged, \(removed) gone, \(binary) files are no text"
                + (cut > 0 ? ", of \(cut) only the beginning" : ""),
            String(
                format: "%.1f MB of text in %.1f s; the index has %d texts and %.1f MB", Double(textBytes) / 1e6,
                seconds,
                texts, Double(indexBytes) / 1e6),
        ]
        if unreadable > 0 {
            lines.append("\(unreadable) could not be read:")
            lines += failures.map { "  " + Output.printable($0) }
        }
        return lines
    }
}

import Synchronization
internal import Testing

/// Where a failed expectation of a ``TestStore``, or of a ``spec(_:reporter:)``, goes.
///
/// By default it is an issue of the running test. Give a store ``CollectedFailures/reporter`` to look at the failures
/// instead, or one of your own for another test library.
public struct TestReporter: Sendable {
    let report: @Sendable (TestFailure) -> Void

    /// Makes a reporter of a function that is called on the thread of the failed expectation.
    public init(_ report: @escaping @Sendable (TestFailure) -> Void) { self.report = report }

    /// Records an issue of swift-testing, at the place of the expectation; what was only skipped, as a warning.
    ///
    /// Where no test of swift-testing runs nobody would see the issue: there it ends the process.
    public static let issue = TestReporter { failure in
        guard Test.current != nil else {
            preconditionFailure("no test of swift-testing runs here, give the store a reporter: \(failure)")
        }
        let place = SourceLocation(
            fileID: failure.fileID, filePath: failure.filePath, line: failure.line, column: failure.column)
        Issue.record(
            "\(failure.text)", severity: failure.isSkip ? .warning : .error, sourceLocation: place)
    }
}

/// A failed expectation.
public struct TestFailure: Hashable, Sendable, CustomStringConvertible {
    /// What was expected and what was found, over several lines.
    public let text: String
    /// It tells what a store that is not exhaustive passed over, and fails nothing.
    public let isSkip: Bool
    /// The source file of the expectation, as `Module/File.swift`.
    public let fileID: String
    /// The path of that file.
    public let filePath: String
    /// The line of the expectation.
    public let line: Int
    /// The column of the expectation.
    public let column: Int

    /// Place and text.
    public var description: String { "\(fileID):\(line): \(text)" }

    init(_ text: String, isSkip: Bool = false, at place: CallSite) {
        self.text = text
        self.isSkip = isSkip
        fileID = place.fileID
        filePath = place.filePath
        line = place.line
        column = place.column
    }
}

/// Keeps failures instead of failing the test, for tests of tests.
public final class CollectedFailures: Sendable {
    private let contents = Mutex<[TestFailure]>([])

    /// Makes an empty collection.
    public init() {}

    /// What to give to a store.
    public var reporter: TestReporter {
        TestReporter { failure in self.contents.withLock { $0.append(failure) } }
    }

    /// What was reported so far, in order.
    public var failures: [TestFailure] { contents.withLock { $0 } }

    /// The texts of ``failures``.
    public var texts: [String] { failures.map(\.text) }
}

/// Where in the test something was called.
struct CallSite: Sendable {
    var fileID: String
    var filePath: String
    var line: Int
    var column: Int

    init(_ fileID: String, _ filePath: String, _ line: Int, _ column: Int) {
        self.fileID = fileID
        self.filePath = filePath
        self.line = line
        self.column = column
    }
}

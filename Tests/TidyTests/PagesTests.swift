import Foundation
import Testing

/// What pages show compiles, and what they cite is there.
@Suite struct PagesTests {
    static let catalog = "Sources/Lockstep/Lockstep.docc"
    static let correspondence = "docs/correspondence"

    private func pages(below folder: String) -> [SourceFile] { Repository.files(below: folder) { $0.hasSuffix(".md") } }

    /// The code of the pages stands in `Tests/*/Pages`, in files that are named after a page, and in an example.
    @Test func theCodeOfThePagesIsCompiled() throws {
        let tests = Repository.swiftFiles(below: "Tests").filter { file in
            !file.path.contains("TidyTests")
                && (file.path.contains("/Pages/") || file.path.hasSuffix("PageTests.swift"))
        }
        // A whole program, with its `@main`, can be no test.
        let files = tests + Repository.swiftFiles(below: "Examples/Sources/Shop")
        let pages = try pages(below: Self.catalog) + [Repository.file("docs/TESTING.md"), Repository.file("README.md")]
        #expect(pages.count >= 10)
        #expect(pages.reduce(0) { $0 + Rules.swiftBlocks(of: $1).count } > 40)
        for page in pages { #expect(Rules.blocksThatAreNotCompiled(of: page, in: files) == []) }
    }

    @Test func everyRowHasOneLine() {
        let lines = pages(below: Self.correspondence).flatMap(Rules.rowsWithALine)
        #expect(Set(Rules.rows).subtracting(lines).sorted() == [], "rows without a line")
        #expect(Set(lines).subtracting(Rules.rows).sorted() == [], "lines of no row")
        #expect(lines.count == Set(lines).count, "rows with two lines")
    }

    @Test func everyTestThatIsCitedExists() throws {
        let tests = Rules.tests(in: Repository.swiftFiles(below: "Tests"))
        #expect(tests.count > 500)
        let pages = try pages(below: Self.correspondence) + [Repository.file("\(Self.catalog)/Guarantees.md")]
        for page in pages {
            let missing = Rules.citedTests(in: page).filter { !tests.contains($0) }
            #expect(missing == [], "\(page.path) cites tests that are not there")
        }
    }

    /// An alarm has one name in the log, in `status` and on the page that says what to do; so has each line of the log.
    @Test func thePageForOperatorsNamesEveryAlarmAndLine() throws {
        let page = try Repository.file("deploy/README.md").text
        let board = try Repository.file("Sources/LockstepNode/AlarmBoard.swift").text
        let alarms = board.matches(of: /case [a-zA-Z]+ = "([A-Z_]+)"/).map { String($0.1) }
        #expect(alarms.count >= 9)
        #expect(alarms.filter { !page.contains($0) } == [])
        let lines = Repository.swiftFiles(below: "Sources/LockstepNode").flatMap { file in
            file.text.matches(of: /ogger\.(?:info|notice|warning|error)\(\s*"([^"]+)"/).map { String($0.1) }
        }
        #expect(lines.count >= 6)
        #expect(lines.filter { !page.contains("`\($0)`") } == [])
    }

    /// Links from one page of the catalog to another lead to one that exists.
    @Test func linksOfTheCatalogLeadToItsPages() {
        let pages = pages(below: Self.catalog)
        let names = Set(pages.map { URL(fileURLWithPath: $0.path).deletingPathExtension().lastPathComponent })
        let sources = Repository.swiftFiles(below: "Sources/Lockstep")
        for file in pages + sources {
            let links = file.text.matches(of: /<doc:([A-Za-z]+)>/).map { String($0.1) }
            #expect(Set(links).subtracting(names) == [], "\(file.path) links to pages that are not there")
        }
    }
}

/// The checks find what they are made for: each is given a planted defect.
@Suite struct PageRulesFindDefects {
    private let page = SourceFile(
        path: "p", text: "text\n```swift\nimport A\n\nf()\n    g()\n\nh()\n```\n```\nnot swift\n```")

    @Test(arguments: ["f()\n    g()\n\nh()\n", "enum A {\n    f()\n        g()\n\n    h()\n}"])
    func codeIsFoundInAnyDepth(code: String) {
        #expect(Rules.blocksThatAreNotCompiled(of: page, in: [SourceFile(path: "a", text: code)]) == [])
    }

    @Test(arguments: ["f()\ng()\n\nh()\n", "f()\n    g()\n", "ff()\n    g()\n\nh()\n", ""])
    func otherCodeIsFound(code: String) {
        #expect(Rules.blocksThatAreNotCompiled(of: page, in: [SourceFile(path: "a", text: code)]).count == 1)
    }

    @Test func rowsAndCitationsAreRead() {
        let page = SourceFile(
            path: "p", text: "| K1 | a | `ATests/b`, `/c` |\n| K2 | `Store` | - |\n| x | `BTests` |\nK3 `DPage/e`")
        #expect(Rules.rowsWithALine(in: page) == ["K1", "K2"])
        #expect(Rules.citedTests(in: page) == ["ATests/b", "ATests/c", "BTests", "DPage/e"])
        #expect(Rules.rows.count == 26 + 8 + 4 + 7 + 23 + 19 + 13 + 24 + 57)
    }

    @Test func testsAreFoundWithTheirSuites() {
        let file = SourceFile(
            path: "t",
            text: """
                extension ATests {
                    @Suite(.serialized) struct BTests {
                        struct Inner {
                            func notATest() {}
                        }
                        @Test(arguments: [
                            1, 2,
                        ]) func b(number: Int) {}
                        func c() {}
                    }
                }
                @Suite final class CTests {
                    @MainActor @Test func d() {}
                }
                """)
        #expect(Rules.tests(in: [file]) == ["BTests", "BTests/b", "CTests", "CTests/d"])
    }
}

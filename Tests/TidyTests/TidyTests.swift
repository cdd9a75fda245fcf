import Foundation
import Testing

/// The repository keeps the rules of docs/STYLE.md that a program can check.
@Suite struct TidyTests {
    static let targets = [
        "ZeroMQ", "LockstepCore", "LockstepNode", "LockstepSQLite", "Lockstep", "Counters", "LockstepFolders",
        "LockstepCommands", "LockstepCLI", "LockstepHarness", "LockstepLabCLI", "LockstepChecking", "LockstepSimulator",
        "LockstepTesting", "SearchCache", "SearchCacheSQLite",
        "SearchCacheWeb", "LockstepMacros", "LockstepMacroExpansion", "LockstepLaboratory", "LockstepServer",
        "LockstepHTTP", "LockstepConsole", "LockstepEtcd",
    ]
    /// The most escapes that each target may have; lower a number when it falls.
    static let escapeLimits = [
        "ZeroMQ": 140, "LockstepCore": 60, "LockstepNode": 40, "LockstepSQLite": 30, "Lockstep": 30, "Counters": 0,
        "LockstepFolders": 0, "LockstepCommands": 0, "LockstepCLI": 0, "LockstepHarness": 0, "LockstepLabCLI": 0,
        "LockstepChecking": 0, "LockstepSimulator": 0, "LockstepTesting": 30,
        "SearchCache": 0, "SearchCacheSQLite": 20, "SearchCacheWeb": 20, "LockstepMacros": 0,
        "LockstepMacroExpansion": 0, "LockstepLaboratory": 0, "LockstepServer": 3, "LockstepHTTP": 0,
        "LockstepConsole": 0, "LockstepEtcd": 0,
    ]

    @Test func noFileIsTooLong() {
        #expect(Rules.tooLong(Repository.swiftFiles(below: "Sources")) == [])
        #expect(Rules.tooLong(Repository.swiftFiles(below: "Tests")) == [])
    }

    @Test func noFunctionIsTooLong() {
        let files = Repository.swiftFiles(below: "Sources")
        #expect(Functions.tooLong(files) == [])
        #expect(files.reduce(0) { $0 + Functions.bodies(in: $1).count } > 3_000, "the check sees the functions")
    }

    /// A machine is entered by any event in any state, so each of its properties doubles what a reader has to think of.
    @Test(arguments: ["Primary", "Replica", "Client", "Recovery"])
    func noMachineHasManyStoredProperties(role: String) throws {
        let file = try Repository.file("Sources/LockstepCore/\(role)/\(role)StateMachine.swift")
        #expect(Rules.tooManyProperties(of: "\(role)StateMachine", in: file) == [])
    }

    @Test func theCoreIsPure() {
        #expect(Rules.impureCore(Repository.swiftFiles(below: "Sources/LockstepCore")) == [])
    }

    @Test func importsPointDownwardsOnly() {
        let system: Set = ["Foundation", "Glibc", "Darwin", "Synchronization", "Dispatch"]
        let program: Set = [
            "Counters", "Lockstep", "LockstepNode", "LockstepServer", "Logging", "SearchCache", "SearchCacheSQLite",
            "SearchCacheWeb", "ServiceLifecycle",
        ]
        let allowed: [String: Set<String>] = [
            "ZeroMQ": ["CZeroMQ", "Glibc", "Darwin", "Synchronization"],
            "LockstepNode": system.union([
                "LockstepCore", "ZeroMQ", "Logging", "Metrics", "ServiceLifecycle", "DequeModule", "HeapModule",
                "Tracing",
            ]),
            "LockstepSQLite": system.union(["Lockstep", "LockstepCore", "LockstepNode", "GRDB", "GRDBSQLite"]),
            "LockstepEtcd": system.union([
                "LockstepCore", "LockstepNode", "AsyncHTTPClient", "NIOCore", "NIOHTTP1", "NIOSSL",
            ]),
            "Lockstep": system.union([
                "CLockstep", "LockstepCore", "LockstepNode", "HashTreeCollections", "DequeModule", "Logging",
                "FoundationEssentials",
            ]),
            "LockstepMacros": ["LockstepMacroExpansion", "SwiftCompilerPlugin", "SwiftSyntax", "SwiftSyntaxMacros"],
            "LockstepMacroExpansion": ["SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros"],
            "Counters": ["Lockstep"],
            "SearchCache": ["Lockstep", "Synchronization"],
            "SearchCacheSQLite": system.union(["Lockstep", "SearchCache", "CZlib", "GRDB"]),
            "SearchCacheWeb": system.union([
                "Lockstep", "SearchCache", "AsyncHTTPClient", "Crypto", "HTTPTypes", "Hummingbird", "HummingbirdCore",
                "Logging", "NIOCore", "NIOHTTP1", "NIOHTTPTypes", "NIOPosix", "ServiceLifecycle",
            ]),
            "LockstepChecking": [],
            "LockstepSimulator": [
                "LockstepCore", "LockstepChecking", "Lockstep", "Counters", "DequeModule", "HeapModule", "Foundation",
            ],
            "LockstepFolders": system.union(["Lockstep", "LockstepCore", "LockstepNode", "LockstepSQLite"]),
            "LockstepServer": system.union([
                "ArgumentParser", "Configuration", "Lockstep", "LockstepConsole", "LockstepCore", "LockstepEtcd",
                "LockstepFolders", "LockstepHTTP",
                "LockstepNode", "LockstepSQLite", "Logging", "ServiceLifecycle", "UnixSignals", "Yams",
                "ZeroMQ",
            ]),
            "LockstepHTTP": system.union([
                "LockstepNode", "LockstepCore", "FlyingSocks", "Logging", "Metrics", "ServiceLifecycle",
            ]),
            "LockstepCommands": system.union(program),
            "LockstepCLI": system.union(program).union(["LockstepCommands"]),
            "LockstepConsole": system.union(["Lockstep", "LockstepHTTP", "LockstepNode", "ServiceLifecycle"]),
            "LockstepHarness": system.union(["Lockstep", "LockstepFolders", "LockstepNode", "LockstepSQLite"]),
            "LockstepLaboratory": system.union([
                "Counters", "Lockstep", "LockstepChecking", "LockstepCore", "LockstepFolders", "LockstepNode",
                "LockstepSQLite", "Logging", "SearchCache",
            ]),
            "LockstepTesting": system.union(["Lockstep", "LockstepCore", "LockstepSimulator", "Testing"]),
        ]
        for (target, modules) in allowed.sorted(by: { $0.key < $1.key }) {
            let files = Repository.swiftFiles(below: "Sources/\(target)")
            #expect(!files.isEmpty)
            #expect(Rules.wrongImports(files, of: target, allowed: modules) == [])
        }
    }

    /// The operator's program is built without what tests and measures it; the other program has all of it.
    @Test func theOperatorsProgramDependsOnNothingOfTheLab() throws {
        let lab: Set = ["LockstepSimulator", "LockstepLaboratory", "LockstepHarness", "LockstepChecking"]
        let manifest = Manifest(try Repository.file("Package.swift").text)
        let operators = manifest.reached(from: "LockstepCLI")
        let needed: Set = [
            "LockstepServer", "LockstepCommands", "LockstepNode", "LockstepCore", "ZeroMQ", "CZeroMQ",
        ]
        #expect(operators.isSuperset(of: needed))
        #expect(operators.intersection(lab.union(["LockstepLabCLI", "LockstepTesting"])) == [])
        #expect(manifest.reached(from: "LockstepLabCLI").isSuperset(of: lab))
    }

    @Test func nothingForbiddenStandsInTheSources() {
        #expect(Rules.forbidden(Repository.swiftFiles(below: "Sources")) == [])
    }

    @Test func escapesFromTheCompilersChecksDoNotGrow() throws {
        for target in Self.targets {
            let count = Rules.escapes(Repository.swiftFiles(below: "Sources/\(target)"))
            let limit = try #require(Self.escapeLimits[target])
            #expect(count <= limit, "\(target) has \(count) escapes")
        }
    }

    @Test func everyRuleOfTheProtocolHasATest() throws {
        let rules = Rules.rules(in: try Repository.file("docs/PROTOCOL.md").text)
        // Planted defects cite the rules that they break.
        let tests = Repository.swiftFiles(below: "Tests").filter {
            !$0.path.contains("TidyTests") && !$0.path.contains("PlantedDefects/")
        }
        let cited = tests.reduce(into: Set<String>()) { $0.formUnion(Rules.citedRules(in: $1.text)) }
        #expect(rules.count > 40)
        #expect(rules.subtracting(cited).sorted() == [])
        #expect(cited.subtracting(rules).sorted() == [], "tests cite rules that PROTOCOL does not have")
        let sources = Repository.swiftFiles(below: "Sources")
        let citedInSources = sources.reduce(into: Set<String>()) { $0.formUnion(Rules.citedRules(in: $1.text)) }
        #expect(citedInSources.subtracting(rules).sorted() == [], "sources cite rules that PROTOCOL does not have")
    }

    @Test func everyPageOfTheDocsIsLinked() throws {
        let pages = Repository.files(below: "docs") { $0.hasSuffix(".md") }
        let linking = try pages + [Repository.file("README.md"), Repository.file("deploy/README.md")]
        for page in pages {
            let name = URL(fileURLWithPath: page.path).lastPathComponent
            let isLinked = linking.contains { $0.path != page.path && $0.text.contains(name) }
            #expect(isLinked, "no page links to \(page.path)")
        }
    }

    @Test func linksLeadToFilesThatExist() throws {
        let pages =
            try Repository.files(below: "docs") { $0.hasSuffix(".md") } + [
                Repository.file("README.md"), Repository.file("deploy/README.md"),
            ]
        for page in pages {
            let folder = Repository.root.appendingPathComponent(page.path).deletingLastPathComponent()
            for match in page.text.matches(of: /\]\(([^)#:\s]+)(?:#[^)]*)?\)/) {
                let target = folder.appendingPathComponent(String(match.1))
                #expect(FileManager.default.fileExists(atPath: target.path), "\(page.path) links to \(match.1)")
            }
        }
    }
}

/// The checks find what they are made for: each is given a planted defect.
@Suite struct TidyRulesFindDefects {
    @Test func longFilesAreFound() {
        let long = SourceFile(path: "a", text: String(repeating: "\n", count: Rules.longestFile + 1))
        #expect(Rules.tooLong([long]).count == 1)
    }

    @Test func storedPropertiesAreCounted() {
        let file = SourceFile(
            path: "a",
            text: """
                // struct Machine { var comment = 0 }
                package struct MachineParts { var other: Int }
                package struct Machine: Hashable, Sendable {
                    package let one: Int
                    package private(set) var two: [Int: String] = [:]
                    @unchecked lazy var three = { 3 }()
                    #if FLAG
                        nonisolated(unsafe) var four: ((Int) -> Void)?
                    #endif
                    var five = 5 { didSet { six = five } }
                    private var six: Int {
                        willSet { print(six) }
                    }
                    let (seven, eight) = (7, 8)
                    static let all = 1
                    var computed: Int { one }
                    var alsoComputed: Int {
                        let local = 1
                        return local
                    }
                    struct Inner {
                        var inner = 0
                    }
                    func f() { let local = "}" }
                    var nine: Int
                }
                extension Machine { var last: Int { 0 } }
                struct After { var after = 0 }
                """)
        let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
        #expect(Rules.storedProperties(of: "Machine", in: file) == names)
        #expect(Rules.tooManyProperties(of: "Machine", in: file, most: 9) == [])
        #expect(Rules.tooManyProperties(of: "Machine", in: file, most: 8).count == 1)
        #expect(Rules.tooManyProperties(of: "Elsewhere", in: file).count == 1)
    }

    @Test(arguments: [
        "func f() {", "    static func f<A>(_ a: A) -> Int {", "    package init?(a: Int) {", "@Sendable func f() {",
        "    var a: Int {", "    subscript(a: Int) -> Int {", "    deinit {", "    private(set) var a: Int {",
        "    func f(\n        _ a: Int\n    ) {", "    func f(_ a: Int)\n        -> Int\n    {",
        "    func f<A>(\n        _ a: A = [\n            1\n        ]\n    ) -> A\n    where A: B {",
        "    func g() {}\n    func f() {", "    var b: Int { 1 }\n    func f() { // {",
        "    func f() -> [Int] {",
    ])
    func longFunctionsAreFound(head: String) {
        for (count, found) in [(Functions.longest, 0), (Functions.longest + 1, 1)] {
            let margin = head.prefix { $0 == " " }
            let body = (0..<count).map { $0 % 7 == 0 ? "" : "\(margin)    if a { // }" }
            let text = ([head] + body + ["\(margin)}", "\(margin)let c = 1", "}"]).joined(separator: "\n")
            #expect(Functions.tooLong([SourceFile(path: "a", text: text)]).count == found, "\(count) lines")
        }
    }

    @Test func whatHasNoBodyIsNoFunction() {
        let text = """
            protocol P {
                func f()
                func g(
                    _ a: Int
                ) -> Int
                var a: Int { get }
                init(a: Int)
            }
            // func f() {
            let text = "func f() {"
            x.init(a: 1) {
            """
        #expect(Functions.bodies(in: SourceFile(path: "a", text: text)) == [])
    }

    /// What is not formatted cannot be measured, and is found instead of being passed over.
    @Test func aFunctionWithoutAnEndIsFound() {
        #expect(Functions.tooLong([SourceFile(path: "a", text: "    func f() {\n  }")]).count == 1)
    }

    @Test(arguments: [
        "import Foundation", "let x = await f()", "let t = Task { }", "let d = Date()", "x.shuffled()",
        "Int.random(in: 0..<3)", "print(1)", "internal import Dispatch",
    ])
    func impurityIsFound(line: String) {
        #expect(!Rules.impureCore([SourceFile(path: "a", text: line)]).isEmpty)
    }

    @Test(arguments: [
        "// import Foundation", "let s = \"await\"", "/// A Task that prints a Date.", "import Crypto",
        "case await = 1",
    ])
    func commentsAndTextsAreNotCode(line: String) {
        #expect(Rules.impureCore([SourceFile(path: "a", text: line)]).isEmpty)
    }

    @Test(arguments: ["Task { }", "let x = try! f()", "// " + "FIX" + "ME", "fatalError(\"no\")"])
    func forbiddenWordsAreFound(line: String) {
        #expect(!Rules.forbidden([SourceFile(path: "a", text: line)]).isEmpty)
    }

    @Test func whatIsDependedOnThroughOthersIsFound() {
        let manifest = Manifest(
            """
            .executableTarget(name: "A", dependencies: ["B", x, .product(name: "P", package: "p")], swiftSettings: base),
            .target(
                name: "B",
                dependencies: [
                    "D", .target(name: "C", condition: .when(traits: ["T"])), y,
                ]),
            .target(name: "C", dependencies: ["B"]),
            .target(name: "E", dependencies: ["F"]),
            """)
        #expect(manifest.reached(from: "A") == ["A", "B", "C", "D", "P", "p", "T"])
        #expect(manifest.reached(from: "E") == ["E", "F"])
        #expect(manifest.reached(from: "D") == [])
    }

    @Test func wrongImportsAndEscapesAndRulesAreFound() {
        let file = SourceFile(path: "a", text: "package import GRDB\nunsafe f()\nfinal class A: @unchecked Sendable {}")
        #expect(Rules.wrongImports([file], of: "T", allowed: ["Foundation"]).count == 1)
        #expect(Rules.escapes([file]) == 2)
        #expect(Rules.rules(in: "- **R-7** text **R-12**") == ["R-7", "R-12"])
        #expect(Rules.citedRules(in: "PROTOCOL R-3, R-5 to R-7") == ["R-3", "R-5", "R-6", "R-7"])
    }
}

// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// A checkout that somebody depends on must build with a newer compiler that warns of more, so warnings are errors
// only where this variable is set: in `deploy/test`, `.ci/run` and the Makefile.
let warningsAreErrors = Context.environment["LOCKSTEP_WARNINGS_AS_ERRORS"] != nil

let base: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])
let memorySafe = base + [.strictMemorySafety()]

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let heaps = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let trees = Target.Dependency.product(name: "HashTreeCollections", package: "swift-collections")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let inMemoryTracing = Target.Dependency.product(name: "InMemoryTracing", package: "swift-distributed-tracing")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let lifecycleTesting = Target.Dependency.product(
    name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle")
let sqlite = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let sqliteLibrary = Target.Dependency.product(name: "GRDBSQLite", package: "GRDB.swift")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let web: [Target.Dependency] = [
    .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Web"])),
    .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Web"])),
    .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Web"])),
    .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Web"])),
    .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: .when(traits: ["Web"])),
    .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Web"])),
    .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Web"])),
    .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Web"])),
]
// The JSON gateway of etcd is spoken with the HTTP client that searches use, so that one build has one of them
// (decision 0033).
let etcd: [Target.Dependency] = [
    .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["Etcd"])),
    .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Etcd"])),
    .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["Etcd"])),
    .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Etcd"])),
]
let macros: TargetDependencyCondition? = .when(traits: ["Macros"])
let syntax: [Target.Dependency] = [
    .product(name: "SwiftDiagnostics", package: "swift-syntax", condition: macros),
    .product(name: "SwiftSyntax", package: "swift-syntax", condition: macros),
    .product(name: "SwiftSyntaxBuilder", package: "swift-syntax", condition: macros),
    .product(name: "SwiftSyntaxMacros", package: "swift-syntax", condition: macros),
]
let syntaxOfPlugin = syntax + [.product(name: "SwiftCompilerPlugin", package: "swift-syntax", condition: macros)]
let syntaxOfTests: [Target.Dependency] =
    syntax + [
        .product(name: "SwiftParser", package: "swift-syntax", condition: macros),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax", condition: macros),
    ]
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: [Target.Dependency] = [
    .product(name: "Configuration", package: "swift-configuration"), .product(name: "Yams", package: "Yams"),
]
let sockets = Target.Dependency.product(name: "FlyingSocks", package: "FlyingFox")

let package = Package(
    name: "lockstep",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Lockstep", targets: ["Lockstep"]),
        .library(name: "LockstepSQLite", targets: ["LockstepSQLite"]),
        .library(name: "LockstepEtcd", targets: ["LockstepEtcd"]),
        .library(name: "LockstepTesting", targets: ["LockstepTesting"]),
        .library(name: "LockstepServer", targets: ["LockstepServer"]),
        .library(name: "Counters", targets: ["Counters"]),
        .library(name: "SearchCache", targets: ["SearchCache"]),
        .library(name: "SearchCacheSQLite", targets: ["SearchCacheSQLite"]),
        .library(name: "SearchCacheWeb", targets: ["SearchCacheWeb"]),
        .library(name: "ZeroMQ", targets: ["ZeroMQ"]),
        .executable(name: "lockstep", targets: ["LockstepCLI"]),
        .executable(name: "lockstep-lab", targets: ["LockstepLabCLI"]),
    ],
    traits: [
        .trait(name: "Etcd", description: "Configuration records in etcd, which clusters of several data nodes need."),
        .trait(name: "Macros", description: "The macro @WireCodable, which needs swift-syntax to build."),
        .trait(name: "Web", description: "Searches over HTTP, and an HTTP face of the search cache."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["JSON", "YAML"]),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", "602.0.0"..<"604.0.0"),
    ],
    targets: [
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"]), .brew(["zeromq"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(name: "ZeroMQ", dependencies: ["CZeroMQ"], swiftSettings: memorySafe),
        .target(name: "CLockstep"),
        .target(name: "LockstepCore", dependencies: ["CLockstep", crypto, deques], swiftSettings: memorySafe),
        .target(
            name: "LockstepNode",
            dependencies: ["LockstepCore", "ZeroMQ", logging, metrics, tracing, lifecycle, deques, heaps],
            swiftSettings: base),
        .target(
            name: "LockstepSQLite",
            dependencies: ["Lockstep", "LockstepNode", "LockstepCore", sqlite, sqliteLibrary],
            swiftSettings: base),
        // Without the trait Etcd it is empty.
        .target(
            name: "LockstepEtcd", dependencies: ["LockstepNode", "LockstepCore"] + etcd, swiftSettings: base),
        // Without the trait Macros these two are empty, and nothing depends on them.
        .target(name: "LockstepMacroExpansion", dependencies: syntax, swiftSettings: base),
        .macro(
            name: "LockstepMacros", dependencies: ["LockstepMacroExpansion"] + syntaxOfPlugin, swiftSettings: base),
        .target(
            name: "Lockstep",
            dependencies: [
                "CLockstep", "LockstepNode", "LockstepCore", .target(name: "LockstepMacros", condition: macros), trees,
                deques, logging,
            ], swiftSettings: base),
        .target(name: "Counters", dependencies: ["Lockstep"], swiftSettings: base),
        .target(name: "SearchCache", dependencies: ["Lockstep"], swiftSettings: base),
        .target(
            name: "SearchCacheSQLite", dependencies: ["SearchCache", "Lockstep", "CZlib", sqlite],
            swiftSettings: base),
        .target(
            name: "SearchCacheWeb", dependencies: ["SearchCache", "Lockstep", logging, lifecycle, crypto] + web,
            swiftSettings: base),
        .target(name: "LockstepChecking", swiftSettings: base),
        .target(
            name: "LockstepSimulator",
            dependencies: ["LockstepCore", "LockstepChecking", "Lockstep", "Counters", deques, heaps],
            swiftSettings: base),
        .target(
            name: "LockstepTesting", dependencies: ["LockstepSimulator", "Lockstep", "LockstepCore"],
            swiftSettings: base),
        .target(
            name: "LockstepFolders", dependencies: ["Lockstep", "LockstepCore", "LockstepNode", "LockstepSQLite"],
            swiftSettings: base),
        .target(
            name: "LockstepHTTP", dependencies: ["LockstepNode", "LockstepCore", logging, metrics, lifecycle, sockets],
            swiftSettings: base),
        .target(
            name: "LockstepConsole",
            dependencies: ["Lockstep", "LockstepNode", "LockstepCore", "LockstepHTTP", lifecycle],
            swiftSettings: base),
        .target(
            name: "LockstepServer",
            dependencies: [
                "Lockstep", "LockstepFolders", "LockstepSQLite", "LockstepNode", "LockstepCore", "LockstepHTTP",
                "LockstepConsole", "LockstepEtcd", "ZeroMQ", arguments, logging, lifecycle, signals,
            ] + configuration, swiftSettings: base),
        .target(
            name: "LockstepCommands",
            dependencies: [
                "LockstepServer", "Lockstep", "LockstepNode", "Counters", "SearchCache", "SearchCacheSQLite",
                "SearchCacheWeb", arguments, logging, lifecycle,
            ], swiftSettings: base),
        .executableTarget(
            name: "LockstepCLI",
            dependencies: [
                "LockstepServer", "LockstepCommands", "Lockstep", "LockstepNode", "Counters", "SearchCache",
                "SearchCacheSQLite", arguments,
            ],
            // What `lockstep new` writes.
            resources: [.embedInCode("New/Template")], swiftSettings: base),
        // What no operator needs, and the operator's program has nothing of: TidyTests compare.
        .target(
            name: "LockstepHarness",
            dependencies: ["Lockstep", "LockstepFolders", "LockstepNode", "LockstepSQLite"], swiftSettings: base),
        .target(
            name: "LockstepLaboratory",
            dependencies: [
                "Counters", "SearchCache", "Lockstep", "LockstepChecking", "LockstepCore", "LockstepFolders",
                "LockstepNode", "LockstepSQLite", logging,
            ], swiftSettings: base),
        .executableTarget(
            name: "LockstepLabCLI",
            dependencies: [
                "LockstepServer", "Lockstep", "LockstepCommands", "LockstepFolders", "LockstepHarness",
                "LockstepLaboratory", "LockstepSimulator", "LockstepSQLite", "LockstepNode", "LockstepCore", "Counters",
                "SearchCache", "SearchCacheSQLite", "SearchCacheWeb", "ZeroMQ", arguments, logging, lifecycle, signals,
            ], swiftSettings: base),
        .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ"], swiftSettings: base),
        .testTarget(name: "LockstepCoreTests", dependencies: ["LockstepCore"], swiftSettings: base),
        .testTarget(
            name: "LockstepNodeTests",
            dependencies: [
                "LockstepNode", "LockstepCore", "LockstepHarness", "ZeroMQ", logging, lifecycleTesting,
            ], swiftSettings: base),
        .testTarget(
            name: "LockstepSQLiteTests",
            dependencies: ["LockstepSQLite", "Lockstep", "LockstepNode", "LockstepCore", sqlite], swiftSettings: base),
        .testTarget(
            name: "LockstepEtcdTests",
            dependencies: [
                "LockstepEtcd", "LockstepNode", "LockstepCore", "LockstepHarness",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Etcd"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Etcd"])),
            ], swiftSettings: base),
        .testTarget(
            name: "LockstepTests",
            dependencies: [
                "Lockstep", "LockstepNode", "LockstepCore", "LockstepTesting", logging, lifecycle, signals, tracing,
                inMemoryTracing,
            ],
            swiftSettings: base),
        .testTarget(
            name: "LockstepMacrosTests",
            dependencies: ["LockstepMacroExpansion", "Lockstep", "Counters"] + syntaxOfTests, swiftSettings: base),
        .testTarget(
            name: "CountersTests", dependencies: ["Counters", "Lockstep"], swiftSettings: base),
        .testTarget(
            name: "SearchCacheTests", dependencies: ["SearchCache", "Lockstep", "LockstepTesting"],
            swiftSettings: base),
        .testTarget(
            name: "SearchCacheSQLiteTests",
            dependencies: ["SearchCacheSQLite", "SearchCache", "LockstepCommands", "Lockstep", logging, sqlite],
            swiftSettings: base),
        .testTarget(
            name: "SearchCacheWebTests",
            dependencies: ["SearchCacheWeb", "SearchCache", "Lockstep", "LockstepTesting", logging, lifecycle] + web,
            swiftSettings: base),
        .testTarget(
            name: "LockstepLaboratoryTests",
            dependencies: [
                "LockstepLaboratory", "LockstepChecking", "LockstepFolders", "LockstepSQLite", "LockstepCore",
                "LockstepNode", "Counters", "Lockstep",
            ], swiftSettings: base),
        .testTarget(name: "LockstepCheckingTests", dependencies: ["LockstepChecking"], swiftSettings: base),
        .testTarget(
            name: "LockstepSimulatorTests",
            dependencies: ["LockstepSimulator", "LockstepChecking", "LockstepCore", "Lockstep", "Counters"],
            swiftSettings: base),
        .testTarget(
            name: "LockstepTestingTests", dependencies: ["LockstepTesting", "Lockstep", "Counters"],
            swiftSettings: base),
        .executableTarget(
            name: "TestPeer",
            dependencies: ["Counters", "Lockstep", "LockstepHarness", "LockstepNode", logging], path: "Tests/TestPeer",
            swiftSettings: base),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "Counters", "Lockstep", "LockstepFolders", "LockstepHarness", "LockstepNode", "LockstepCore",
                "LockstepSQLite", "LockstepCLI", "LockstepLabCLI", "LockstepSimulator", "TestPeer", "ZeroMQ",
            ], exclude: ["curve_peer.py", "hostile_keys.py", "hostile_peers.py", "zmtp_noise.py"], swiftSettings: base),
        .testTarget(
            name: "LockstepHTTPTests",
            dependencies: ["LockstepHTTP", "Lockstep", "LockstepNode", "Counters", logging, metrics, lifecycle],
            exclude: ["http_client.py"], swiftSettings: base),
        .testTarget(
            name: "LockstepConsoleTests",
            dependencies: ["LockstepConsole", "LockstepHTTP", "Counters", "Lockstep", "LockstepNode"],
            swiftSettings: base),
        .testTarget(
            name: "LockstepServerTests",
            dependencies: [
                "LockstepServer", "LockstepFolders", "LockstepSQLite", "LockstepHTTP", "LockstepNode", "LockstepCore",
                "Counters", "Lockstep", "ZeroMQ", logging, lifecycle,
            ], swiftSettings: base),
        .testTarget(name: "TidyTests", dependencies: [], swiftSettings: base),
    ]
)

// Fuzzing, see docs/FUZZING.md. What is done with an input is a library, so that the tests replay the inputs that once
// failed; the program around it needs libFuzzer and a sanitizer, and is there for `Fuzz/run` only.
package.targets += [
    .target(
        name: "LockstepFuzzing",
        dependencies: [
            "Counters", "Lockstep", "LockstepFolders", "LockstepSQLite", "LockstepNode", "LockstepCore", "ZeroMQ",
        ], path: "Fuzz/Targets", swiftSettings: base),
    .testTarget(
        name: "FuzzRegressionTests",
        dependencies: [
            "Counters", "Lockstep", "LockstepFuzzing", "LockstepFolders", "LockstepSQLite", "LockstepNode",
            "LockstepCore",
        ], swiftSettings: base),
]
if Context.environment["LOCKSTEP_FUZZ"] != nil {
    // Not in the packages below: each counter costs time in every execution, whether it counts or not.
    let sanitized = ["-sanitize=fuzzer,address"]
    let instrumented: Set = [
        "Counters", "Lockstep", "LockstepFuzzing", "LockstepFolders", "LockstepSQLite", "LockstepNode", "LockstepCore",
        "ZeroMQ",
    ]
    for target in package.targets where instrumented.contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(sanitized)]
    }
    package.targets.append(
        .executableTarget(
            name: "LockstepFuzz", dependencies: ["LockstepFuzzing"], path: "Fuzz/Program",
            swiftSettings: base + [.unsafeFlags(["-sanitize=address"])],
            // At a fixed address: 127,000 counters have as many places in tables that would be written at the start.
            linkerSettings: [.unsafeFlags(sanitized + ["-use-ld=lld", "-Xclang-linker", "-no-pie"])]))
}

// For `deploy/test`, which builds the tests beside the programs that it tests, with the same optimized modules. The tests
// themselves compile in half the time without. What only debuggers read is left out.
if Context.environment["LOCKSTEP_TEST_BUILD"] != nil {
    for target in package.targets where [.regular, .executable, .test].contains(target.type) {
        let flags = target.type == .test ? ["-Onone", "-gnone"] : ["-gnone"]
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(flags)]
    }
}

// For `deploy/planted-defects`, whose program simulates: what a simulation does not run is not optimized.
if Context.environment["LOCKSTEP_DEFECTIVE_BUILD"] != nil {
    let simulated: Set = ["Counters", "Lockstep", "LockstepChecking", "LockstepCore", "LockstepSimulator"]
    for target in package.targets
    where [.regular, .executable].contains(target.type) && !simulated.contains(target.name) {
        target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-Onone"])]
    }
}

// For `deploy/docs`: the macros are declared, which is what the manual shows of them. Only who uses them needs the
// program behind them, and swift-syntax; the compiler warns that it is not there.
if Context.environment["LOCKSTEP_DOCS_BUILD"] != nil {
    for target in package.targets where target.name == "Lockstep" {
        target.swiftSettings = (target.swiftSettings ?? []) + [.define("Macros"), .treatAllWarnings(as: .warning)]
    }
}

// One target of tests, and none of what only others need.
if let only = Context.environment["LOCKSTEP_TEST_TARGET"] {
    package.targets.removeAll { $0.type == .test && $0.name != only }
    // SwiftPM builds tests of a macro as it builds the macro, so that swift-syntax is built once. Elsewhere it would build
    // all tests and what they test twice for that.
    for target in package.targets where target.name == "LockstepMacrosTests" {
        target.dependencies.append("LockstepMacros")
    }
}

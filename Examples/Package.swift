// swift-tools-version: 6.2
import PackageDescription

let warningsAreErrors = Context.environment["LOCKSTEP_WARNINGS_AS_ERRORS"] != nil
// As the package above was built, if it was: `deploy/test` says so, and nothing of it is built again.
let isTestBuild = Context.environment["LOCKSTEP_TEST_BUILD"] != nil
let traits: Set<Package.Dependency.Trait> = isTestBuild ? ["Web", "Etcd"] : []
let settings: [SwiftSetting] = warningsAreErrors ? [.treatAllWarnings(as: .error)] : []

// For `@testable import`, which an optimized module does not allow by itself.
let testable: [SwiftSetting] = settings + (isTestBuild ? [.unsafeFlags(["-enable-testing"])] : [])

let lockstep = Target.Dependency.product(name: "Lockstep", package: "lockstep")
let sqlite = Target.Dependency.product(name: "LockstepSQLite", package: "lockstep")
let server = Target.Dependency.product(name: "LockstepServer", package: "lockstep")
let testing = Target.Dependency.product(name: "LockstepTesting", package: "lockstep")
// What a program needs besides: its command line, and an orderly end at Ctrl-C.
let program: [Target.Dependency] = [
    lockstep, sqlite,
    .product(name: "ArgumentParser", package: "swift-argument-parser"),
    .product(name: "Logging", package: "swift-log"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
]

let package = Package(
    name: "lockstep-examples",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "play-catch", targets: ["PlayCatchProgram"]),
        .executable(name: "todo", targets: ["TodoProgram"]),
        .executable(name: "shop", targets: ["Shop"]),
        .executable(name: "tokens", targets: ["Tokens"]),
    ],
    dependencies: [
        .package(name: "lockstep", path: "..", traits: traits),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        .target(name: "CounterWithHistory", dependencies: [lockstep], swiftSettings: settings),
        .target(name: "PlayCatch", dependencies: [lockstep], swiftSettings: settings),
        .executableTarget(name: "PlayCatchProgram", dependencies: ["PlayCatch"] + program, swiftSettings: settings),
        .target(name: "Todo", dependencies: [lockstep], swiftSettings: settings),
        .executableTarget(name: "TodoProgram", dependencies: ["Todo"] + program, swiftSettings: settings),
        .target(name: "Calculator", dependencies: [lockstep], swiftSettings: settings),
        .executableTarget(name: "Shop", dependencies: [server], swiftSettings: settings),
        .executableTarget(name: "Tokens", dependencies: [server], swiftSettings: testable),
        .target(
            name: "NodeTesting", dependencies: [lockstep], path: "Tests/NodeTesting", swiftSettings: settings),
        .testTarget(
            name: "CounterWithHistoryTests",
            dependencies: ["CounterWithHistory", "NodeTesting", lockstep, sqlite, testing], swiftSettings: settings),
        .testTarget(
            name: "PlayCatchTests",
            dependencies: ["PlayCatch", "PlayCatchProgram", "NodeTesting", lockstep, testing],
            swiftSettings: settings),
        .testTarget(
            name: "TodoTests", dependencies: ["Todo", "TodoProgram", "NodeTesting", lockstep, testing],
            swiftSettings: settings),
        .testTarget(name: "CalculatorTests", dependencies: ["Calculator", testing], swiftSettings: settings),
        .testTarget(name: "ShopTests", dependencies: ["Shop", "NodeTesting"], swiftSettings: settings),
        .testTarget(
            name: "TokensTests", dependencies: ["Tokens", "NodeTesting", lockstep, testing], swiftSettings: settings),
    ]
)

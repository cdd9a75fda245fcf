// swift-tools-version: 6.2
import PackageDescription

let warningsAreErrors = Context.environment["LOCKSTEP_WARNINGS_AS_ERRORS"] != nil
// As the package above was built, if it was: `deploy/test` says so, and then nothing of it is built again.
let hasWeb = Context.environment["LOCKSTEP_WEB"] != nil

// The hot paths are `package` declarations of the package above, which its products do not show. The compiler lets a
// module see them that says it belongs to the same package; SwiftPM names a package after its folder.
let packageAbove: String = {
    let folder = Context.packageDirectory.split(separator: "/").dropLast().last ?? "lockstep"
    let name = folder.lowercased().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" }
    return (name.first?.isNumber == true ? "_" : "") + String(name)
}()

let package = Package(
    name: "lockstep-benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "lockstep", path: "..", traits: hasWeb ? ["Web", "Etcd"] : [])],
    targets: [
        .target(name: "CAllocations"),
        .executableTarget(
            name: "LockstepBenchmarks",
            dependencies: [
                "CAllocations",
                .product(name: "Lockstep", package: "lockstep"),
                .product(name: "LockstepSQLite", package: "lockstep"),
                .product(name: "Counters", package: "lockstep"),
            ],
            // Without a name of its own, so that the one below is the only one.
            packageAccess: false,
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .unsafeFlags(["-package-name", packageAbove]),
            ] + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])),
    ]
)

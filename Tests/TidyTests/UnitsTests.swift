import Foundation
import Testing

/// The systemd units that are shipped, and those that a new package gets: settings without which a node does its work
/// worse, and nobody sees it on a developer's machine.
@Suite struct UnitsTests {
    private static let paths = [
        "deploy/systemd/lockstep-primary.service", "deploy/systemd/lockstep-replica.service",
        "deploy/systemd/lockstep-data.service",
        "Sources/LockstepCLI/New/Template/primary.service.template",
        "Sources/LockstepCLI/New/Template/replica.service.template",
    ]

    /// The values of a setting in a unit's section `[Service]`.
    private static func settings(_ name: String, in path: String) throws -> [String] {
        let section = try Repository.file(path).text.components(separatedBy: "[Service]\n").last ?? ""
        return section.components(separatedBy: "\n[").first?.split(separator: "\n")
            .filter { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) } ?? []
    }

    /// Swift's runtime raises a thread's priority by 4, which an ordinary user may not, and says so in the system's log
    /// (decision 0022).
    @Test(arguments: paths) func aUnitAllowsTheRuntimesPriority(path: String) throws {
        #expect(try Self.settings("LimitNICE", in: path) == ["-4"])
    }

    /// A failure that may pass is tried again, for ever; wrong usage, a folder of the other role among it, and damage are
    /// not (deploy/README.md, exit statuses).
    @Test(arguments: paths) func aUnitRestartsWhatMayPassAndNothingElse(path: String) throws {
        #expect(try Self.settings("Restart", in: path) == ["on-failure"])
        #expect(try Self.settings("RestartPreventExitStatus", in: path) == ["64 65"])
    }
}

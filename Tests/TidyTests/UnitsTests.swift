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
        "Sources/LockstepCLI/New/Template/data.service.template",
    ]

    /// The values of a setting in a section of a unit.
    private static func settings(
        _ name: String, in path: String, section title: String = "Service"
    ) throws -> [String] {
        let section = try Repository.file(path).text.components(separatedBy: "[\(title)]\n").last ?? ""
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

    /// However often a node ends, it is started again; and libzmq asks the kernel for the host's interfaces at its start.
    @Test(arguments: paths) func aUnitIsNeverGivenUpAndMayAskForInterfaces(path: String) throws {
        #expect(try Self.settings("StartLimitIntervalSec", in: path, section: "Unit") == ["0"])
        let families = try Self.settings("RestrictAddressFamilies", in: path)
        #expect(families.count == 1 && families[0].split(separator: " ").contains("AF_NETLINK"))
    }

    /// A node gets the descriptors that the page names, and a folder that is its user's alone (docs/SECURITY.md).
    @Test(arguments: paths) func aUnitGivesDescriptorsAndAFolderOfItsOwn(path: String) throws {
        #expect(try Self.settings("LimitNOFILE", in: path) == ["65536"])
        #expect(try Repository.file("deploy/README.md").text.contains("the units ask for 65,536"))
        #expect(try Self.settings("StateDirectoryMode", in: path) == ["0700"])
    }

    /// Each unit serves the folder and reads the settings that the page names; the sample has all that the command
    /// takes, since systemd puts nothing in the place of what is not set.
    @Test(arguments: ["primary", "replica", "data"]) func aUnitServesTheFolderOfThePage(role: String) throws {
        let path = "deploy/systemd/lockstep-\(role).service"
        let page = try Repository.file("deploy/README.md").text
        let (folder, file) = ("/var/lib/lockstep/\(role)", "/etc/lockstep/\(role).env")
        #expect(page.contains(folder) && page.contains(file))
        #expect(try Self.settings("EnvironmentFile", in: path) == [file])
        let command = try #require(try Self.settings("ExecStart", in: path).first)
        #expect(command.hasPrefix("lockstep serve --data \(folder) "))
        let sample = try Repository.file("deploy/systemd/\(role).env").text
        let taken = command.matches(of: /LOCKSTEP_[A-Z]+/).map { String($0.output) }
        #expect(taken.contains("LOCKSTEP_LISTEN") && taken.allSatisfy { sample.contains("\n\($0)=") })
    }

    /// The units differ in what they are for, and in nothing else.
    @Test func theShippedUnitsAllowTheSame() throws {
        let sections = try Self.paths.prefix(3).map { path in
            let section = try Repository.file(path).text.components(separatedBy: "[Service]\n").last ?? ""
            return section.split(separator: "\n").filter { line in
                !line.hasPrefix("#") && !line.hasPrefix("EnvironmentFile=") && !line.hasPrefix("ExecStart=")
            }
        }
        #expect(sections[0] == sections[1] && sections[0] == sections[2])
    }

    /// A new package has the units and the settings that are shipped, by its own name.
    @Test(arguments: ["primary", "replica", "data"]) func aNewPackageHasTheSame(role: String) throws {
        for (shipped, template) in [("lockstep-\(role).service", "\(role).service"), ("\(role).env", "\(role).env")] {
            let text = try Repository.file("deploy/systemd/\(shipped)").text
                .replacing(/[Ll]ockstep/, with: "{{name}}")
            let own = try Repository.file("Sources/LockstepCLI/New/Template/\(template).template").text
            #expect(own == text, "\(template)")
        }
    }
}

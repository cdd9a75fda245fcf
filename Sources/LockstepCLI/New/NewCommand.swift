import Foundation
import LockstepServer

/// `lockstep new`: writes a package of the user's own, with a program, a reactor, its tests and what a host needs.
struct NewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Writes a package of your own: a program with one store, and its tests.",
        discussion: """
            The folder NAME is made in the current one. It builds and passes its tests at once; its README.md says how it is \
            run and deployed.

              lockstep new shop --lockstep ~/lockstep
              cd shop && swift test && ./run
            """)

    @Argument(help: "The program's name: lower-case letters, digits, and single \"-\" between them.")
    var name: String
    @Option(
        help: ArgumentHelp(
            "Where Lockstep is: a folder with its sources, or the URL of its repository. Needed.",
            valueName: "path-or-url"))
    var lockstep: String?

    func run() throws {
        let name = try ProgramName(name)
        // Nothing can be guessed: a package that depends on a place where nobody has Lockstep cannot be built.
        guard let lockstep else {
            throw CommandFailure(
                "say where Lockstep is: --lockstep PATH, a folder with its sources, or the URL of its repository",
                status: .usage)
        }
        let dependency = try Self.dependency(on: lockstep)
        let folder = URL(fileURLWithPath: name.text, isDirectory: true)
        guard !FileManager.default.fileExists(atPath: folder.path) else {
            throw CommandFailure("\(name.text) is there already; choose another name, or go to another folder")
        }
        try NewPackage(name: name, dependency: dependency).write(to: folder)
        Output.line("\(name.text) is made; next: cd \(name.text) && swift test && ./run")
    }

    /// The line of a manifest that names Lockstep: by its repository, or by a folder on this host.
    static func dependency(on place: String) throws -> String {
        // As a Swift literal, so that no character of a path means anything else.
        if place.contains("://") || place.hasPrefix("git@") {
            return ".package(url: \(place.debugDescription), from: \(Version.number.debugDescription))"
        }
        let folder = URL(fileURLWithPath: place, isDirectory: true).standardizedFileURL
        guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("Package.swift").path) else {
            throw CommandFailure(
                "\(place) has no Package.swift; --lockstep is a folder with Lockstep's sources, or a URL",
                status: .usage)
        }
        var path = folder.path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return ".package(name: \"lockstep\", path: \(path.debugDescription))"
    }
}

import Foundation
import LockstepServer

/// The files of a new package, made from those in `Template`.
struct NewPackage {
    let name: ProgramName
    /// The dependency on Lockstep, as the manifest has it.
    let dependency: String

    /// A file: where it lies, what is in it, and whether it is a program.
    struct File {
        var path: String
        var content: [UInt8]
        var isProgram = false
    }

    /// The files, with the marks of the templates in place of names.
    private var files: [File] {
        [
            File(path: ".gitignore", content: PackageResources.gitignore_template),
            File(path: "Package.swift", content: PackageResources.Package_swift_template),
            File(path: "README.md", content: PackageResources.README_md_template),
            File(path: "Sources/{{Module}}/Stock.swift", content: PackageResources.Stock_swift_template),
            File(path: "Sources/{{Module}}/{{Module}}.swift", content: PackageResources.Program_swift_template),
            File(path: "Tests/{{Module}}Tests/StockTests.swift", content: PackageResources.StockTests_swift_template),
            File(path: "deploy/data.env", content: PackageResources.data_env_template),
            File(path: "deploy/primary.env", content: PackageResources.primary_env_template),
            File(path: "deploy/replica.env", content: PackageResources.replica_env_template),
            File(path: "deploy/{{name}}-data.service", content: PackageResources.data_service_template),
            File(path: "deploy/{{name}}-primary.service", content: PackageResources.primary_service_template),
            File(path: "deploy/{{name}}-replica.service", content: PackageResources.replica_service_template),
            File(path: "run", content: PackageResources.run_template, isProgram: true),
        ]
    }

    /// Writes all files.
    ///
    /// - Throws: What the file system says. Nothing is left then.
    func write(to folder: URL) throws {
        let manager = FileManager.default
        // It gets its name when it is whole.
        let begun = folder.deletingLastPathComponent().appendingPathComponent(".\(name.text).\(getpid())")
        do {
            for file in files {
                let place = begun.appendingPathComponent(filled(file.path))
                try manager.createDirectory(at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(filled(String(decoding: file.content, as: UTF8.self)).utf8).write(to: place)
                if file.isProgram { try manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path) }
            }
            try manager.moveItem(at: begun, to: folder)
        } catch {
            try? manager.removeItem(at: begun)  // The first error is the one to tell.
            throw error
        }
    }

    private func filled(_ text: String) -> String {
        text.replacing("{{name}}", with: name.text).replacing("{{Module}}", with: name.module)
            .replacing("{{dependency}}", with: dependency)
    }
}

import Foundation
import LockstepHarness
import Testing

extension IntegrationTests {
    /// `lockstep new` makes a whole package or nothing.
    ///
    /// That it builds and does what its page says is the business of deploy/new-test.
    @Suite struct NewCommandTests {
        /// A repository, as the command is told of one; nobody fetches it.
        private static let repository = "https://repository.example/lockstep"

        /// Runs `lockstep new` in a folder.
        private func new(_ arguments: String..., in folder: String) throws -> (
            status: Int32, output: String, errors: String
        ) {
            let command = ["-c", "cd \"$0\" && exec \"$@\"", folder, Bench.program, "new"]
            return try ChildProcess.run("/bin/sh", command + arguments)
        }

        private func files(below folder: String) throws -> [String] {
            try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
        }

        /// Goal: every file is there, with the program's name and its module's in place of marks, and one can be run.
        @Test func aPackageIsMade() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let run = try new("online-shop", "--lockstep", Self.repository, in: folder)
            #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
            let shop = folder + "/online-shop"
            let made = try files(below: shop)
            #expect(
                made == [
                    ".gitignore", "Package.swift", "README.md", "Sources", "Sources/OnlineShop",
                    "Sources/OnlineShop/OnlineShop.swift", "Sources/OnlineShop/Stock.swift", "Tests",
                    "Tests/OnlineShopTests", "Tests/OnlineShopTests/StockTests.swift", "deploy", "deploy/data.env",
                    "deploy/online-shop-data.service", "deploy/online-shop-primary.service",
                    "deploy/online-shop-replica.service", "deploy/primary.env", "deploy/replica.env", "run",
                ])
            for file in made {
                // A folder has no text.
                guard let text = try? String(contentsOfFile: shop + "/" + file, encoding: .utf8) else { continue }
                #expect(!text.contains("{{") && !text.isEmpty, "\(file)")
            }
            let manifest = try String(contentsOfFile: shop + "/Package.swift", encoding: .utf8)
            let version = try #require(try Bench.lockstep("--version").output.firstMatch(of: /lockstep ([0-9.]+),/)).1
            #expect(manifest.contains("url: \"\(Self.repository)\", from: \"\(version)\""))
            #expect(FileManager.default.isExecutableFile(atPath: shop + "/run"))
            #expect(try files(below: folder).filter { !$0.hasPrefix("online-shop") } == [])
        }

        /// Goal: what is no program's name, or would be a type or a module that is there, is one line, and makes nothing.
        @Test(arguments: [
            "", "Shop", "shop_2", "2shop", "shop-", "-", "shop--two", "../shop", "shop/two", "größe", "lockstep",
            "lockstep-two", "string", "stock", "testing", "configuration", "yams",
            "hosted-store", String(repeating: "a", count: 25),
        ]) func aNameThatCannotBeIsRefused(name: String) throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let run = try new("--", name, in: folder)
            #expect(run.status == 64 && run.output.isEmpty, "\(run)")
            #expect(run.errors.hasPrefix("lockstep: ") && run.errors.split(separator: "\n").count == 1, "\(run)")
            #expect(try files(below: folder) == [])
        }

        /// Goal: nothing that is there is touched; what cannot be made is told, and nothing is left of it.
        @Test func whatIsThereIsNotTouched() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            try FileManager.default.createDirectory(atPath: folder + "/shop", withIntermediateDirectories: false)
            let again = try new("shop", "--lockstep", Self.repository, in: folder)
            #expect(again.status == 1 && again.errors.contains("shop is there already"), "\(again)")
            #expect(try files(below: folder) == ["shop"])
            let placeless = try new("bakery", in: folder)
            #expect(placeless.status == 64 && placeless.errors.split(separator: "\n").count == 1, "\(placeless)")
            #expect(placeless.errors.hasPrefix("lockstep: say where Lockstep is: --lockstep PATH"), "\(placeless)")
            let missing = try new("bakery", "--lockstep", folder, in: folder)
            #expect(missing.status == 64 && missing.errors.contains("no Package.swift"), "\(missing)")
            // Nobody can make a folder there, root neither.
            let unwritable = try new("bakery", "--lockstep", Self.repository, in: "/proc")
            #expect(unwritable.status == 1 && unwritable.errors.split(separator: "\n").count == 1, "\(unwritable)")
            #expect(try files(below: folder) == ["shop"])
        }

        /// Goal: a folder's path is in the manifest as the compiler reads it, whatever is in it.
        @Test func aFolderIsDependedOnByItsPath() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let sources = folder + "/a \"quoted\" \\(folder)"
            try FileManager.default.createDirectory(atPath: sources, withIntermediateDirectories: false)
            try Data("// no package\n".utf8).write(to: URL(fileURLWithPath: sources + "/Package.swift"))
            let run = try new("shop", "--lockstep", sources + "/", in: folder)
            #expect(run.status == 0, "\(run)")
            let manifest = try String(contentsOfFile: folder + "/shop/Package.swift", encoding: .utf8)
            #expect(manifest.contains(#"/a \"quoted\" \\(folder)")"#), "\(manifest)")
        }
    }
}

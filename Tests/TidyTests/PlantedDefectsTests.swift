import Foundation
import Testing

/// What can be checked of planted defects without a copy of the sources; `deploy/planted-defects --check` does the rest.
@Suite struct PlantedDefectsTests {
    /// The patches are named for their defects; one with several has all their names.
    @Test func everyPlantedDefectHasItsPatchAndItsLineOnAPage() throws {
        let list = try Repository.file("Tests/PlantedDefects/Sources/LockstepCore/PlantedDefect.swift")
        let defects = list.text.matches(of: /^    case (\w+)$/.anchorsMatchLineEndings()).map { String($0.1) }
        let patches = Repository.files(below: "Tests/PlantedDefects") { $0.hasSuffix(".patch") }
        let names = patches.map { URL(fileURLWithPath: $0.path).deletingPathExtension().lastPathComponent }
        let patched = names.flatMap { $0.split(separator: "+").map(String.init) }
        #expect(defects.count > 60)
        #expect(patched.sorted() == defects.sorted())
        let pages = try ["docs/SIMULATOR.md", "docs/STORAGE-TESTS.md"].map { try Repository.file($0).text }.joined()
        #expect(defects.filter { !pages.contains("| \($0) |") } == [])
    }

    @Test func theSourcesHaveNoDefects() {
        let files = Repository.swiftFiles(below: "Sources")
        #expect(files.filter { $0.code.contains("PlantedDefect") }.map(\.path) == [])
    }
}

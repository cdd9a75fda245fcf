import ArgumentParser
import Foundation
import LockstepHarness
import LockstepServer

/// Where the operator's program is, whose nodes are killed or measured.
struct OperatorProgram: ParsableArguments {
    @Option(help: "The program lockstep that the nodes run. Default: the one in the folder of this program.")
    var program: String?

    /// The program's path.
    ///
    /// - Throws: ``CommandFailure`` if no program is there.
    func path() throws -> String {
        let beside = URL(fileURLWithPath: ChildProcess.ownPath).deletingLastPathComponent()
            .appendingPathComponent("lockstep")
        // Whole, since nobody looks for it in PATH.
        let path = (program.map { URL(fileURLWithPath: $0) } ?? beside).standardizedFileURL.path
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
            FileManager.default.isExecutableFile(atPath: path)
        else {
            throw CommandFailure(
                "\(path) is not a program: build it with \"swift build -c release --product lockstep\", or name it with "
                    + "--program", status: .usage)
        }
        return path
    }
}

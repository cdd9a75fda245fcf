import Foundation
import LockstepNode
import Testing

/// A word of a command that a message names is what a shell makes of it.
@Suite struct ShellWordTests {
    @Test(arguments: [
        "", "data/node-1", "my data", "it's", "$HOME", "a;b", "tcp://[::1]:7400", "~", "*", "\"", "new\nline", "é",
        "-a=b,c",
    ])
    func aShellReadsItAsItWas(text: String) throws {
        let shell = Process()
        let output = Pipe()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", "printf %s \(text.shellWord)"]
        shell.standardOutput = output
        try shell.run()
        let read = try output.fileHandleForReading.readToEnd() ?? Data()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0 && read == Data(text.utf8), "\(text.shellWord)")
    }

    @Test func whatIsPlainStaysAsItIs() {
        for text in ["data/node-1", "tcp://10.0.0.1:7400,tcp://10.0.0.2:7400", "é"] { #expect(text.shellWord == text) }
    }
}

import Foundation
import Lockstep
import Testing

/// A program with keys needs no module but Lockstep, as docs/SECURITY.md shows it.
struct KeysOfAProgramTests {
    @Test func aProgramThatImportsLockstepHasTheNamesOfKeys() throws {
        let pair: CurveKeyPair = try .generate()
        let known: CurvePublicKey = pair.publicKey
        var configuration = NodeConfiguration.client(of: "tcp://10.0.0.1:7400")
        configuration.keys = NodeKeys(own: pair, nodes: ["tcp://10.0.0.1:7400": [known]])
        #expect(configuration.keys?.own.publicKey == CurvePublicKey(z85: known.z85))
    }

    /// The lines of the page, with a file that is not there.
    @Test func theKeyFileOfThePageIsRead() {
        #expect(throws: LockstepError.self) {
            var configuration = NodeConfiguration.client(of: "tcp://10.0.0.1:7400")
            configuration.keys = NodeKeys(
                own: try KeyFile(reading: "no-folder/web-1.key").pair, access: AccessFile(path: "nodes.json"))
        }
    }
}

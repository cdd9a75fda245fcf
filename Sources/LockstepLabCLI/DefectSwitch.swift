import Foundation
import LockstepServer

/// What `LOCKSTEP_DEFECT` switches on: nothing, since this program has no planted defects.
///
/// A run that is to find a defect is refused: it would prove nothing. `deploy/planted-defects --build` makes a program
/// with defects; it has another file in the place of this one.
enum DefectSwitch {
    private static let refusal = CommandFailure(
        "this program has no planted defects; deploy/planted-defects --build makes one that has them")

    /// Refuses to run if the environment names a defect.
    static func apply() throws(CommandFailure) {
        if ProcessInfo.processInfo.environment["LOCKSTEP_DEFECT"]?.isEmpty == false { throw refusal }
    }

    static func ofMachines() throws(CommandFailure) -> [String] { throw refusal }

    static func ofClusters() throws(CommandFailure) -> [String] { throw refusal }

    static func ofStorage() throws(CommandFailure) -> [String] { throw refusal }
}

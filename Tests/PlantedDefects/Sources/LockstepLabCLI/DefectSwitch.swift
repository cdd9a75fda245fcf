import Foundation
import LockstepCore
import LockstepServer

/// What `LOCKSTEP_DEFECT` switches on in this program, which has the planted defects.
enum DefectSwitch {
    /// Switches on what the environment names; before any machine runs.
    static func apply() throws(CommandFailure) {
        guard let name = ProcessInfo.processInfo.environment["LOCKSTEP_DEFECT"], !name.isEmpty else { return }
        guard let defect = PlantedDefect(rawValue: name) else {
            throw CommandFailure("there is no planted defect \(name); lockstep-lab simulate --list-defects")
        }
        PlantedDefect.activate(defect)
    }

    /// The names of those that the simulator finds.
    static func ofMachines() throws(CommandFailure) -> [String] { PlantedDefect.ofMachines.map(\.rawValue) }

    /// The names of those that the simulator of several data nodes finds.
    static func ofClusters() throws(CommandFailure) -> [String] { PlantedDefect.ofClusters.map(\.rawValue) }

    /// The names of those of the journal.
    static func ofStorage() throws(CommandFailure) -> [String] { PlantedDefect.ofStorage.map(\.rawValue) }
}

#if LOCKSTEP_PLANTED_DEFECTS
    import Foundation
    import LockstepCommands
    import LockstepCore

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

        /// The names of those of the journal.
        static func ofStorage() throws(CommandFailure) -> [String] { PlantedDefect.ofStorage.map(\.rawValue) }
    }
#else
    import Foundation
    import LockstepCommands

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

        static func ofStorage() throws(CommandFailure) -> [String] { throw refusal }
    }
#endif

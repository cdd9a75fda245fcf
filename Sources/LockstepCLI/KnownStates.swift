import Counters
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepFolders
import SearchCache

/// The reactors of this program, for commands that compare the digests of a log without serving it.
enum KnownStates {
    /// A new state of a store, which no node owns; nil for a store of another program.
    static func detached(_ store: String) throws -> (any FollowingState)? {
        switch store {
        case Hosted.counters: ReactorState.detached(Counters())
        case Hosted.search: ReactorState.detached(try SearchCache(NoBackend()))
        default: nil
        }
    }
}

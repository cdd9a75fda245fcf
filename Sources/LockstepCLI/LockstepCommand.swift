import Counters
import LockstepCommands
import LockstepServer

/// The operator's program: `lockstep`.
@main
struct LockstepCommand: LockstepServer {
    typealias ServeOptions = SearchOptions

    static let name = "lockstep"
    static let about = "Keeps state identical across processes and hosts."
    static let version = Version.description
    static let discussion = """
        A primary writes a log and is its only writer; replicas apply it and hold the same state.

          lockstep init --data data/primary
          lockstep serve --data data/primary --listen tcp://127.0.0.1:7400
          lockstep counter add visits
          lockstep status --data data/primary

        \(ExitStatus.explanation)
        """

    static var stores: Stores {
        Hosted.countersStore.showingReplies(of: Counters.self) { receipt in
            let line = CounterLine(name: "", receipt: receipt)
            return ShownReply(key: "counter", value: line, text: line.text)
        }
        Hosted.searchStore
    }

    static var commands: [any ParsableCommand.Type] { [CounterCommand.self, SearchCommand.self, NewCommand.self] }
}

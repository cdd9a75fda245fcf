import Counters
import LockstepCommands
import LockstepLaboratory
import LockstepServer

/// The program of those who test and measure: `lockstep-lab`.
@main
struct LabCommand: LockstepServer {
    typealias ServeOptions = SearchOptions

    static let name = "lockstep-lab"
    static let about = "Simulates, tests and measures Lockstep; \"lockstep\" is the program that serves."
    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: about,
        discussion: """
              lockstep-lab simulate --seeds 300
              lockstep-lab demo --kills 20
              lockstep-lab bench --quick

            The demonstration and the benchmark run nodes of the program lockstep, which lies beside this one or is named \
            by --program.

            \(ExitStatus.explanation)
            """,
        version: Version.text(of: "lockstep-lab"), subcommands: subcommands)

    private static var subcommands: [any ParsableCommand.Type] {
        let all: [any ParsableCommand.Type] = [
            SimulateCommand.self, DemoCommand.self, BenchCommand.self, ChaosCommand.self, InitCommand.self,
            ServeCommand.self, BenchNodeCommand.self, BenchSubscriberCommand.self,
        ]
        #if Web
            return all + [SearchCommand.self]
        #else
            return all
        #endif
    }

    /// What the workloads of a laboratory work on comes last, so that the others have the channels of `lockstep`.
    static var stores: Stores {
        Hosted.countersStore
        Hosted.searchStore
        HostedStore(Workbench.store, Workbench()).onRequest()
        for name in moreCounters { HostedStore(name, Counters()).onRequest() }
    }

    /// Stores that there are many of: with the counters they are fifty.
    static let moreCounters = (2...50).map { "\(Hosted.counters)-\($0)" }
}

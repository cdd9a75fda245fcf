/// A program of your own that serves the stores of your reactors, and sends to, asks, watches and inspects them.
///
/// What it is about and its stores are the whole of it:
///
/// ```swift
/// @main struct Shop: LockstepServer {
///     static let about = "Keeps a stock of goods."
///     static var stores: Stores { HostedStore("stock", Stock()); HostedStore("flags", Flags()) }
/// }
/// ```
///
/// The program has the commands of ``builtInCommands``, `--version`, and completions for shells. A signal ends a node in
/// good order; an error is one line on standard error, with an ``ExitStatus``. The manual's page "Operating your program"
/// shows each command.
public protocol LockstepServer: AsyncParsableCommand, SendableMetatype {
    /// Options of your own for `serve`, which your stores are made with; none by default.
    associatedtype ServeOptions: ParsableArguments = NoServeOptions
    /// The stores of this program.
    typealias Stores = HostedStores<ServeOptions>

    /// The program's name in help, errors and advice; by default the type's name in lower case, words joined by `-`.
    ///
    /// A configuration of your own has it as its `commandName`.
    static var name: String { get }
    /// What the program does, in one sentence, for its help.
    static var about: String { get }
    /// More for the help: examples and the exit statuses, by default.
    static var discussion: String { get }
    /// What `--version` prints; by default the name, and the version of Lockstep.
    static var version: String { get }
    /// The stores that its nodes can host, in an order that never changes: a place in it is a store's channel.
    ///
    /// Add a new store at the end. The first one is taken where a command needs a store and none is named.
    @HostedStoresBuilder<ServeOptions> static var stores: Stores { get }
    /// Commands of your own; one with the name of a built-in command takes its place.
    static var commands: [any ParsableCommand.Type] { get }
}

extension LockstepServer {
    /// The type's name in lower case, words joined by `-`.
    public static var name: String { CommandName.derived(from: Self.self) }

    /// How a store is served, and what the exit statuses mean.
    public static var discussion: String {
        """
        A primary writes a log and is its only writer; replicas apply it and hold the same state.

          \(name) init --data data/primary
          \(name) serve --data data/primary --listen tcp://127.0.0.1:7400
          \(name) status --data data/primary

        \(ExitStatus.explanation)
        """
    }

    /// The name, and the versions of Lockstep and libzmq.
    public static var version: String { "\(name), \(Version.text(of: "lockstep"))" }

    /// None.
    public static var commands: [any ParsableCommand.Type] { [] }

    /// Those that every program has, in the order of the help.
    public static var builtInCommands: [any ParsableCommand.Type] { nodeCommands + storeCommands }

    /// Those that make and serve nodes, and change their folders.
    private static var nodeCommands: [any ParsableCommand.Type] {
        [
            InitCommand<Self>.self, ServeCommand<Self>.self, RecoverCommand<Self>.self, PromoteCommand<Self>.self,
            DemoteCommand<Self>.self, BackupCommand<Self>.self, RestoreCommand<Self>.self, KeysCommand<Self>.self,
        ] + clusterCommands
    }

    /// Those of clusters with several data nodes; none without the trait Etcd.
    private static var clusterCommands: [any ParsableCommand.Type] {
        #if Etcd
            [ClusterCommand<Self>.self]
        #else
            []
        #endif
    }

    /// Those that use stores, and look into them and into nodes.
    private static var storeCommands: [any ParsableCommand.Type] {
        [
            SendCommand<Self>.self, AskCommand<Self>.self, WatchCommand<Self>.self, OutcomeCommand<Self>.self,
            StatusCommand<Self>.self, TopCommand<Self>.self, JournalCommand<Self>.self, ActionsCommand<Self>.self,
            SessionsCommand<Self>.self, ClockCommand<Self>.self,
        ]
    }

    /// The command line: the built-in commands and your own.
    public static var configuration: CommandConfiguration {
        let own = Set(commands.map(CommandName.of))
        func others(_ commands: [any ParsableCommand.Type]) -> [any ParsableCommand.Type] {
            commands.filter { !own.contains(CommandName.of($0)) }
        }
        return CommandConfiguration(
            commandName: name, abstract: about, discussion: discussion, version: version,
            subcommands: others(nodeCommands) + commands + others(storeCommands))
    }

    /// Runs the command that the command line names, and ends the process with its exit status.
    @concurrent public static func main() async {
        // Isolated as ArgumentParser's own `main` is: otherwise `@main` takes that one, and errors are not one line.
        await runAsProgram()
    }
}

/// The options of a program that adds none to `serve`.
public struct NoServeOptions: ParsableArguments {
    /// There is nothing to set.
    public init() {}
}

/// What a command is called on the command line.
enum CommandName {
    static func of(_ command: any ParsableCommand.Type) -> String {
        command.configuration.commandName ?? derived(from: command)
    }

    /// `StockServer` is `stock-server`.
    static func derived(from type: Any.Type) -> String {
        let letters = Array(String(describing: type))
        return letters.indices.reduce(into: "") { name, place in
            // Of capitals in a row the last one begins a word: HTTPShop is http-shop.
            let isAfterWord = place > 0 && letters[place - 1].isLowercase
            let isBeforeWord = place > 0 && place + 1 < letters.count && letters[place + 1].isLowercase
            if letters[place].isUppercase, isAfterWord || isBeforeWord { name += "-" }
            name += letters[place].lowercased()
        }
    }
}

import Foundation
import LockstepCore
import LockstepNode
import LockstepServer
import Testing

/// A program of a user's has all commands, in its own name.
@Suite struct ProgramTests {
    /// The commands of every program, and the program's own among them.
    @Test func aProgramHasAllCommands() {
        let names = Shop.configuration.subcommands.map { $0.configuration.commandName ?? "" }
        var all = [
            "init", "serve", "recover", "promote", "demote", "backup", "restore", "keys", "send", "ask", "watch",
            "outcome",
            "status", "top", "journal", "actions", "sessions", "clock",
        ]
        #if Etcd
            all.insert("cluster", at: 8)
        #endif
        #expect(names == all)
        let journal = JournalCommand<Shop>.configuration.subcommands.map { $0.configuration.commandName ?? "" }
        #expect(journal == ["inspect", "verify", "dump", "state-at", "difference"])
    }

    /// No help says "lockstep" where the program is meant, in any command and option.
    @Test func helpNamesTheProgram() {
        #expect(Shop.helpMessage().contains("shop init --data data/primary"))
        func check(_ command: any ParsableCommand.Type) {
            let help = Shop.helpMessage(for: command, columns: 1_000)
            #expect(help.contains("USAGE: shop "), "\(help)")
            #expect(!help.contains("lockstep"), "\(help)")
            for part in command.configuration.subcommands { check(part) }
        }
        for command in Shop.configuration.subcommands { check(command) }
        #expect(
            Shop.helpMessage(for: InitCommand<Shop>.self, columns: 1_000).contains("Default: stock and deliveries."))
        #expect(
            Shop.helpMessage(for: RecoverCommand<Shop>.self, columns: 1_000).contains("with --accept-loss, the stock"))
    }

    @Test func theVersionNamesBoth() {
        #expect(Shop.configuration.version.hasPrefix("shop, lockstep "))
    }

    /// Completions for shells are made from the commands.
    @Test(arguments: [CompletionShell.bash, .zsh, .fish]) func completionsKnowTheCommands(shell: CompletionShell) {
        let script = Shop.completionScript(for: shell)
        for word in ["state-at", "send", "linearizable"] { #expect(script.contains(word), "\(word)") }
    }

    private struct HTTPStockServer: LockstepServer {
        static let about = "A program with a command and options of its own."
        static var stores: Stores { HostedStore("stock", Stock()) }
        static var commands: [any ParsableCommand.Type] { [Audit.self, Status.self] }

        struct Audit: ParsableCommand {}
        struct Status: ParsableCommand {
            static let configuration = CommandConfiguration(commandName: "status", abstract: "Of the stock.")
        }
    }

    /// A command of the user's own is added, or takes the place of a built-in one; the name follows the type's.
    @Test func ownCommandsAreAdded() throws {
        #expect(HTTPStockServer.name == "http-stock-server")
        let commands = HTTPStockServer.configuration.subcommands
        #expect(commands.contains { $0 == HTTPStockServer.Audit.self })
        let named = commands.filter { $0.configuration.commandName == "status" }
        #expect(named.count == 1 && named[0] == HTTPStockServer.Status.self)
        #expect(try HTTPStockServer.parseAsRoot(["audit"]) is HTTPStockServer.Audit)
        #expect(try HTTPStockServer.parseAsRoot(["status"]) is HTTPStockServer.Status)
    }

    private struct Twice: LockstepServer {
        static let about = "Two stores of one name."
        static var stores: Stores {
            HostedStore("stock", Stock())
            HostedStore("stock", Stock())
        }
    }
    private struct Misnamed: LockstepServer {
        static let about = "A store with a name that cannot be."
        static var stores: Stores { HostedStore("my stock", Stock()) }
    }
    private struct Empty: LockstepServer {
        static let about = "No store."
        static var stores: Stores {}
    }

    /// What the program's author got wrong is said before a folder is made.
    @Test func storesThatCannotBeAreRefused() async throws {
        func refusal(_ program: any LockstepServer.Type) throws -> String? {
            func check<Server: LockstepServer>(_ server: Server.Type) throws { try server.stores.check() }
            do { try check(program) } catch let failure as CommandFailure { return failure.message }
            return nil
        }
        #expect(try refusal(Twice.self)?.contains("two stores named stock") == true)
        #expect(try refusal(Misnamed.self)?.contains("cannot be a store's name") == true)
        #expect(try refusal(Empty.self)?.contains("has no stores") == true)
        #expect(try refusal(Shop.self) == nil)
        try await withFolder { folder in
            var command = try Twice.parseAsRoot(["init", "--data", folder])
            #expect(throws: CommandFailure.self) { try command.run() }
        }
    }

    /// A store that is not there is refused with the names of those that are.
    @Test(arguments: ["send", "ask", "watch"]) func anUnknownStoreIsRefused(command: String) async throws {
        let words = command == "watch" ? [command, "stok"] : [command, "stok", "{}"]
        guard var parsed = try Shop.parseAsRoot(words) as? any AsyncParsableCommand else {
            Issue.record("\(command) is not asynchronous")
            return
        }
        let failure = await #expect(throws: CommandFailure.self) { try await parsed.run() }
        #expect(failure?.status == .usage)
        #expect(failure?.message == "this program has no store stok: it has stock, deliveries")
    }

    /// A script must not repeat what was accepted: its status is no failure's, and the line names the command that asks.
    @Test func whatWasAcceptedIsNoFailure() async throws {
        let run = try #require(RunID("7:3#9"))
        let keys = try KeyOptions.parse([])
        let failure = await #expect(throws: CommandFailure.self) {
            try await OutcomeCommand<Shop>.naming(
                node: "tcp://127.0.0.1:7400", store: "deliveries", insecure: false, keys: keys
            ) { throw LockstepError(.unfinished, "action \(run) was accepted; wait for its end", run: run) }
        }
        #expect(failure?.status == .outcomeUnknown)
        #expect(
            failure?.message
                == "action \(run) was accepted; ask: shop outcome 7:3 9 --node tcp://127.0.0.1:7400 --store deliveries")
        let codes: [LockstepError.Code] = [.failed, .cancelled, .unreadable]
        for code in codes {
            #expect(CommandFailure(describing: LockstepError(code, "it was so"))?.status == .effectFailed)
        }
    }

    /// What no repetition helps against has the status after which a unit does not start its node again.
    @Test func whatDoesNotPassByItselfIsWrongUsage() {
        let codes: [LockstepError.Code] = [.invalidConfiguration, .wrongRole, .journalMissing, .journalNewer]
        for code in codes {
            #expect(CommandFailure(describing: LockstepError(code, "it is so"))?.status == .usage, "\(code)")
        }
    }

    /// What the library calls by the name of a property, the program calls by its option, and it has that option.
    @Test(arguments: SettingName.allCases) func textsNameOptionsAndNoProperties(setting: SettingName) throws {
        let error = LockstepError(.invalidConfiguration, "it is so; set \(setting.property) to something else")
        let text = try #require(CommandFailure(describing: error)?.message)
        #expect(text.contains(setting.option) && !text.contains(setting.property), "\(text)")
        let help = Shop.helpMessage(for: ServeCommand<Shop>.self, columns: 1_000)
        #expect(!setting.option.hasPrefix("--") || help.contains(setting.option + " "), "\(help)")
    }

    /// The help of `clock accept` says for how long it accepts the clock, as deploy/README.md does.
    @Test func theHelpSaysHowLongAClockIsAccepted() throws {
        let accept = try #require(ClockCommand<Shop>.configuration.subcommands.first)
        let help = Shop.helpMessage(for: accept, columns: 1_000)
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("deploy/README.md"), encoding: .utf8)
        let section = try #require(page.split(separator: "### ").first { $0.hasPrefix("The clock is refused") })
        for words in [
            "ahead of the log", "for an hour", "the log has the clock's time", "behind the log", "for every start",
            "has passed the log", "the log's time runs at half the clock's rate",
        ] {
            #expect(help.contains(words), "\(words) in: \(help)")
            #expect(section.contains(words), "\(words) in: \(section)")
        }
    }

    /// A node or a client may have any name, and what a command prints of it neither moves the cursor nor looks like a row.
    @Test func namesOfOthersAreOnlyText() {
        #expect(Output.printable("a\u{1B}[2Jb\n1:2\u{202E}é") == "a [2Jb 1:2 é")
    }

    @Test func aStoreWithoutQueriesSaysSo() async throws {
        guard var ask = try Shop.parseAsRoot(["ask", "deliveries", "{}"]) as? any AsyncParsableCommand else {
            Issue.record("ask is not asynchronous")
            return
        }
        let failure = await #expect(throws: CommandFailure.self) { try await ask.run() }
        #expect(failure?.message == "the store deliveries answers no queries")
    }
}

import LockstepServer
import Logging
import ServiceLifecycle
import Testing

/// The code of OperatingYourProgram.md; its first program stands in Examples/Sources/Shop, with `@main`.
@Suite struct OperatingYourProgramPage {
    struct CountCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "count", abstract: "Counts articles.")

        @Argument(help: "The articles.") var articles: [String]
        @OptionGroup var asked: AskedNode

        func run() async throws {
            try await asked.withStore(Stock.self, named: "stock") { stock in
                for article in articles {
                    let count = try await stock.ask(.count(article), .linearizable, timeout: asked.patience).answer
                    guard count > 0 else { throw CommandFailure("there is no \(article)") }
                    Output.line("\(count) \(article)")
                }
            }
        }
    }

    struct ShopOptions: ParsableArguments {
        @Option(help: "The most pieces of an article. (default: 1000)", transform: Within.whole(1...1_000_000))
        var room = 1_000
    }

    struct LargeShop: LockstepServer {
        typealias ServeOptions = ShopOptions

        static let name = "shop"
        static let about = "Keeps a stock of goods."
        static var stores: Stores {
            HostedStore("stock", reader: Stock()) { hosting in
                let stock = try hosting.store(Stock(room: hosting.options.room))
                return (stock, [Inventory(stock: stock, logger: hosting.logger)])
            }
            HostedStore("flags", Flags())
        }
        static var commands: [any ParsableCommand.Type] { [CountCommand.self] }
    }

    struct Inventory: Service {
        let stock: Store<Stock>
        let logger: Logger

        func run() async throws {
            await cancelWhenGracefulShutdown {
                for await count in stock.select({ $0.amounts.count }) {
                    logger.info("inventory", metadata: ["articles": "\(count)"])
                }
            }
        }
    }

    struct ShortList: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "shop", subcommands: [ServeCommand<LargeShop>.self, CountCommand.self])

        static func main() async { await runAsProgram() }
    }

    /// The program of the page has its command and its option, and those of every program.
    @Test func theProgramHasWhatThePageAdds() throws {
        let help = LargeShop.helpMessage(for: ServeCommand<LargeShop>.self)
        #expect(help.contains("--room <room>") && help.contains("--replica-of"))
        #expect(help.contains("(default: 1000)") && help.contains("shop serve --data"))
        #expect(LargeShop.helpMessage().contains("count") && LargeShop.helpMessage().contains("journal"))
        #expect(try ShortList.parseAsRoot(["count", "pear"]) is CountCommand)
        #expect(throws: (any Error).self) {
            _ = try LargeShop.parseAsRoot(["serve", "--data", "x", "--room", "0"])
        }
    }
}

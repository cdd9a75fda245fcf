import LockstepServer

/// The name of a new program, and of its module: `online-shop` is `OnlineShop`.
struct ProgramName {
    /// As it is typed on the command line.
    let text: String
    /// The Swift module, and the type of the program.
    let module: String

    /// The longest name in characters: a systemd unit and a user of the system are named after it.
    static let longest = 24

    /// Modules that a build has already, and names that the new package's own code uses.
    private static let taken: Set<String> = [
        // Modules of a build, Lockstep's own excepted.
        "Algorithms", "ArgumentParser", "Atomics", "Collections", "Configuration", "Counters", "Crypto", "Dispatch",
        "FlyingFox", "FlyingSocks", "Foundation", "Glibc", "Hummingbird", "Instrumentation", "Logging", "Main",
        "Metrics", "Musl", "SearchCache", "ServiceLifecycle", "Swift", "Synchronization", "Testing", "Tracing",
        "UnixSignals", "Yams",
        // What a program, a reactor and their tests are made of.
        "Action", "Any", "Bool", "Codable", "Context", "Effect", "HostedStore", "Int", "Mutation", "Never", "Protocol",
        "Query", "Reactor", "Rejection", "Reply", "Self", "Sendable", "State", "Stock", "Store", "Stores", "String",
        "Suite",
        "Test", "Type", "Void",
    ]

    /// Checks a name.
    ///
    /// - Throws: `CommandFailure` if no program can be called so.
    init(_ text: String) throws {
        guard text.count <= Self.longest, text.wholeMatch(of: /[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*/) != nil else {
            throw CommandFailure(
                "a name has 1 to \(Self.longest) lower-case letters, digits and single \"-\", and each word begins with a "
                    + "letter: online-shop", status: .usage)
        }
        module = text.split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        guard !Self.taken.contains(module), !module.hasPrefix("Lockstep") else {
            throw CommandFailure(
                "a program called \(text) would have the type \(module), which there is already; choose another name",
                status: .usage)
        }
        self.text = text
    }
}

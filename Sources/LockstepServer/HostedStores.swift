import LockstepCore
import LockstepFolders
/// The stores of a program, in the order of their channels.
public struct HostedStores<ServeOptions: ParsableArguments> {
    private let stores: [HostedStore<ServeOptions>]

    /// Stores in this order, which is the same on all nodes of a cluster and in all versions of the program.
    public init(_ stores: [HostedStore<ServeOptions>]) { self.stores = stores }

    /// Their names, in the order of their channels.
    public var names: [String] { stores.map(\.name) }

    /// Those that `init` makes unless it is told.
    var initialNames: [String] { stores.filter { !$0.isOnRequest }.map(\.name) }

    /// The same in words: `a, b and c`.
    var initialText: String {
        let names = initialNames
        return names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
    }

    /// The one that is meant where none is named: the first.
    var usual: String { stores.first?.name ?? "" }

    /// The store of this name; nil if the program has none.
    subscript(name: String) -> HostedStore<ServeOptions>? { stores.first { $0.name == name } }

    /// The store of this name.
    ///
    /// - Throws: ``CommandFailure``, with the names that there are.
    package func store(_ name: String) throws -> HostedStore<ServeOptions> {
        guard let store = self[name] else {
            throw CommandFailure(
                "this program has no store \(name): it has \(names.joined(separator: ", "))", status: .usage)
        }
        return store
    }

    /// A new state of a store, which no node owns, to compare the digests of a log with; nil for a store of another program.
    func detached(_ name: String) throws -> (any FollowingState)? {
        func detached(_ reactor: some Reactor) -> any FollowingState { ReactorState.detached(reactor) }
        return try self[name].map { detached(try $0.makeReader()) }
    }

    /// Checks what the program's author wrote: there are stores, with names that stores can have, each of one only.
    ///
    /// - Throws: ``CommandFailure`` that says what to change.
    package func check() throws {
        guard !stores.isEmpty else { throw CommandFailure("this program has no stores: name one in its \"stores\"") }
        var seen: Set<String> = []
        for name in names {
            guard NodeID(name) != nil else {
                throw CommandFailure(
                    "\"\(name)\" cannot be a store's name: use 1 to 64 letters, digits, '-', '_' and '.'")
            }
            guard seen.insert(name).inserted else {
                throw CommandFailure("this program has two stores named \(name): give one another name")
            }
        }
    }
}

/// Makes a program's stores of a list of them.
@resultBuilder public enum HostedStoresBuilder<ServeOptions: ParsableArguments> {
    /// One store.
    public static func buildExpression(_ store: HostedStore<ServeOptions>) -> [HostedStore<ServeOptions>] { [store] }

    /// Stores one after the other.
    public static func buildBlock(_ stores: [HostedStore<ServeOptions>]...) -> [HostedStore<ServeOptions>] {
        stores.flatMap { $0 }
    }

    /// The stores of each turn of a `for` loop.
    public static func buildArray(_ stores: [[HostedStore<ServeOptions>]]) -> [HostedStore<ServeOptions>] {
        stores.flatMap { $0 }
    }

    /// All of them.
    public static func buildFinalResult(_ stores: [HostedStore<ServeOptions>]) -> HostedStores<ServeOptions> {
        HostedStores(stores)
    }
}

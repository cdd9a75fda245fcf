import Counters
package import LockstepServer
import SearchCache

/// The stores that `lockstep` hosts, and `lockstep-lab` beside one of its own.
package enum Hosted {
    package static let counters = "counters"
    package static let search = "search"

    /// The first of them, on channel 0.
    package static var countersStore: HostedStore<SearchOptions> { HostedStore(counters, Counters()) }

    /// The second of them, on channel 1.
    package static var searchStore: HostedStore<SearchOptions> {
        HostedStore(search, reader: try SearchCache(NoBackend())) { try $0.options.search.host($0) }
    }
}

/// What `serve` is told about searches, under a title of its own in the help.
package struct SearchOptions: ParsableArguments {
    @OptionGroup(title: "Searches") var search: SearchServing

    package init() {}
}

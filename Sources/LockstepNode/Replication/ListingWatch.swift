/// Whether a data node is in the arbiter's list, by which other nodes find it, and whether its operator was told that
/// it is not.
///
/// A node that cannot be listed serves all the same: others connect to it when it leads, and what is asked of all
/// listed nodes does not reach it. An arbiter that does not answer at all is ``ArbiterWatch``'s.
package struct ListingWatch: Hashable, Sendable {
    /// How many lists in a row must lack a node that cannot register: one may be read between two tries.
    package static let patience = 2

    /// Why the last try to register, or to stay listed, has failed; nil after one that has not.
    private var failure: String?
    /// How many lists in a row lacked the node since a try failed.
    private var missed = 0
    /// The operator was told that the node is missing.
    private var isTold = false

    /// What an operator must learn.
    package enum News: Hashable, Sendable {
        case missing(because: String)
        case listedAgain
    }

    package init() {}

    /// A try to register has ended, or the node was found to be listed no longer.
    package mutating func happened(_ event: RegistrationEvent) {
        switch event {
        case .registered, .lost: (failure, missed) = (nil, 0)
        case .failed(let error): failure = "\(error)"
        }
    }

    /// A list was read, with or without the node; nil: there is nothing new to tell.
    package mutating func read(isListed: Bool) -> News? {
        guard !isListed else {
            missed = 0
            defer { isTold = false }
            return isTold ? .listedAgain : nil
        }
        guard let failure else { return nil }
        missed += 1
        guard missed >= Self.patience, !isTold else { return nil }
        isTold = true
        return .missing(because: failure)
    }
}

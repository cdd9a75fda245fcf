/// What a primary is told that an arbiter has made primary: the record that it won, and how it was won (PROTOCOL, R-75).
///
/// A primary without one is the only one that there ever is: nobody else's word counts for a commit.
package struct Reign: Hashable, Sendable {
    package var won: StoredRecord
    /// The node itself, with the incarnation of its journal.
    package var member: Member
    /// What the arbiter was seen to say so far; requests are numbered on from there.
    package var memory: ArbiterMemory
    /// Seeds the names of attempts.
    package var seed: UInt64

    package init(
        won: StoredRecord, member: Member, memory: ArbiterMemory, seed: UInt64
    ) {
        (self.won, self.member, self.memory, self.seed) = (won, member, memory, seed)
    }
}

import LockstepCore

/// The workload of seeds: every client takes tickets, whose numbers judge all that it sees.
///
/// Its clients are ``ClusterClient``s, so it makes no calls.
final class TicketsWorkload: Workload {
    func makeState() -> any ReplicatedState { ClusterState() }
    func next(caller: Int, random: inout SplitMix64) -> Call? { nil }
    func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable { head.last }
    func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool { true }
    func findings(in history: [CallRecord], final: any Sendable) -> [Violation] { [] }
}

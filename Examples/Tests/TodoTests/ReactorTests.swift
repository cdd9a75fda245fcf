import Lockstep
import LockstepTesting
import Testing
import Todo

/// The list and its syncing, in virtual time.
struct ReactorTests {
    private let reliable = SyncService(delays: 100...100, failures: 0)

    /// A task is syncing until the service has it.
    @Test func aTaskIsSynced() {
        let store = TestStore(Todo(service: reliable))
        store.send(.add(" Buy milk "), reply: 1) {
            $0.items = [TodoItem(id: 1, title: "Buy milk")]
            $0.nextID = 2
        }
        store.advance(by: .milliseconds(100))
        store.receive(.synced(1, revision: 1)) { $0.items.update(1) { $0.sync = .synced } }
        store.finish()
    }

    /// A change during an upload of the task: the service gets both revisions, in order, and the task is synced
    /// when it has the last.
    @Test func aChangedTaskIsSyncedAgain() {
        let store = TestStore(Todo(service: reliable))
        store.exhaustivity = .off
        store.send(.add("Buy milk"), reply: 1)
        store.advance(by: .milliseconds(60))
        store.send(.rename(1, to: "Buy oat milk"))
        store.advance(by: .milliseconds(40))
        store.receive(.synced(1, revision: 1)) { $0.items.update(1) { $0.sync = .syncing } }
        store.advance(by: .milliseconds(100))
        store.receive(.synced(1, revision: 2)) { $0.items.update(1) { $0.sync = .synced } }
        store.finish()
    }

    /// A failure is a state of its task, concerns no other task, and is tried again when somebody says so.
    @Test func aFailedTaskIsTriedAgain() {
        let store = TestStore(Todo(service: SyncService(delays: 100...100, failures: 100)))
        store.exhaustivity = .off
        store.send(.add("Buy milk"))
        store.send(.add("Call Ada"))
        store.advance(by: .milliseconds(100))
        for id in 1...2 {
            store.receive(.syncFailed(id, revision: 1, reason: "the service is busy")) {
                $0.items.update(id) { $0.sync = .failed("the service is busy") }
            }
        }
        store.send(.retry(1)) { $0.items.update(1) { $0.sync = .syncing } }
        store.advance(by: .milliseconds(100))
        store.receive(.syncFailed(1, revision: 2, reason: "the service is busy"))
        store.finish()
    }

    /// Whatever was syncing when the primary ended is synced by the next one.
    @Test func theNextPrimarySyncs() {
        let store = TestStore(Todo(service: reliable))
        store.exhaustivity = .off
        store.send(.add("Buy milk"))
        store.advance(by: .milliseconds(60))
        store.restart()
        store.advance(by: .milliseconds(100))
        store.receive(.synced(1, revision: 1)) { $0.items.update(1) { $0.sync = .synced } }
        store.finish()
    }

    /// Tasks are moved by name, whatever stands where by then.
    @Test func tasksAreMoved() throws {
        let cluster = TestCluster(Todo(service: reliable))
        for title in ["a", "b", "c"] { try cluster.send(.add(title)) }
        #expect(try cluster.state(of: .primary).items.ids == [3, 2, 1])
        try cluster.send(.move(1, before: 2))
        #expect(try cluster.state(of: .primary).items.ids == [3, 1, 2])
        try cluster.send(.move(3, before: nil))
        #expect(try cluster.state(of: .primary).items.ids == [1, 2, 3])
    }

    /// What makes no sense is refused, with the reason.
    @Test func whatMakesNoSenseIsRefused() {
        let list = spec(Todo())
        list.when(.add("  ")).then(.rejects("a task needs a title"))
        list.when(.add(String(repeating: "x", count: 201))).then(.rejects("a title has at most 200 characters"))
        list.when(.add("\u{1B}[2J")).then(.rejects("a title has no control characters"))
        list.when(.rename(7, to: "x")).then(.rejects("there is no task 7"))
        list.when(.add("x"), .retry(1)).then(.rejects("task 1 has not failed"))
        list.when(.add("x"), .setArchived(1, true), .setDone(1, true)).then(
            .rejects("task 1 is archived; restore it first"))
    }

    /// All nodes come to the same list.
    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(
            of: Todo(),
            actions: [
                .add("a"), .add("b"), .add("c"), .rename(2, to: "B"), .setDone(1, true), .move(1, before: 3),
                .move(3, before: nil), .setArchived(2, true), .setArchived(2, false),
            ])
    }

    /// The service of the default seed, as the tests of the terminal expect it.
    @Test func theServiceKeepsToItsSeed() {
        let service = SyncService(delays: 50...2_000, failures: 33, seed: 1)
        let plans = (1...300).map { service.plan(for: TodoItem(id: $0, title: "")) }
        #expect(plans.allSatisfy { .milliseconds(50) <= $0.delay && $0.delay <= .milliseconds(2_000) })
        #expect((70...130).contains(plans.count(where: \.isRefused)))
        #expect(plans.map(\.isRefused) == (1...300).map { service.plan(for: TodoItem(id: $0, title: "x")).isRefused })
    }
}

import Lockstep
import LockstepTesting
import Synchronization
import Testing
import Todo

/// Types prepared lines, and keeps what it was shown.
private final class Typist: Dialogue {
    private let lines: Mutex<[String]>
    private let shown = Mutex<[String]>([])

    init(_ lines: [String]) { self.lines = Mutex(lines) }

    /// What it was shown: prompts and texts.
    var output: [String] { shown.withLock { $0 } }

    func ask(_ prompt: String) async -> String? {
        shown.withLock { $0.append(prompt) }
        return lines.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func tell(_ text: String) async { shown.withLock { $0.append(text) } }
}

/// The flows of a terminal, with a script in place of a user.
struct FlowTests {
    private func edit(_ lines: String...) async throws -> EditFlow.Result {
        try await FlowTree().run(EditFlow(TodoItem(id: 1, title: "Buy milk"), Typist(lines)))
    }

    /// The edit flow ends with the new title, or with nothing.
    @Test func anEditIsSavedOrCancelled() async throws {
        #expect(try await edit("Buy oat milk", "") == .saved("Buy oat milk"))
        #expect(try await edit("Buy oat milk", " Buy tea ", "") == .saved("Buy tea"))
        #expect(try await edit("") == .cancelled)
        #expect(try await edit(".") == .cancelled)
        #expect(try await edit() == .cancelled)
    }

    /// Only who has changed something is asked whether to throw it away.
    @Test func throwingAnEditAwayIsConfirmed() async throws {
        #expect(try await edit("Buy tea", ".", "y") == .cancelled)
        #expect(try await edit("Buy tea", ".", "maybe", "n", "") == .saved("Buy tea"))
    }

    /// Commands become actions, in order; an edit becomes one when it is saved.
    @Test func commandsAreSent() async throws {
        let stub = StubStore<Todo>(state: Todo.State()) { _ in .reply(1) }
        stub.push { $0.items = [TodoItem(id: 1, title: "Buy milk")] }
        let typist = Typist(["add Call Ada", "done 1", "edit 1", "Buy tea", "", "move 1 end", "quit", "done 2"])
        try await FlowTree().run(ListFlow(stub, typist))
        #expect(
            stub.actions == [.add("Call Ada"), .setDone(1, true), .rename(1, to: "Buy tea"), .move(1, before: nil)])
    }

    /// Whatever is wrong with a command is said, and the next is asked for.
    @Test func whatIsWrongIsSaid() async throws {
        let stub = StubStore<Todo>(state: Todo.State()) { _ in .rejected("there is no task 7") }
        let typist = Typist(["frob", "done x", "done 7", "edit 7", "", "archived"])
        try await FlowTree().run(ListFlow(stub, typist))
        #expect(
            typist.output.filter { $0 != "> " } == [
                "\"frob\" is no command; help shows them all.", "done needs the number of a task, as in: done 3",
                "Refused: there is no task 7.", "There is no task 7 to edit.", "Nothing is archived.",
            ])
    }
}

/// Lines and texts of the terminal.
struct TextTests {
    @Test(arguments: [
        ("", Command.nothing), ("  quit ", .quit), ("add  Buy milk ", .send(.add("Buy milk"))), ("edit 3", .edit(3)),
        ("undone 3", .send(.setDone(3, false))), ("restore 3", .send(.setArchived(3, false))),
        ("move 3 before 1", .send(.move(3, before: 1))), ("move 3 end", .send(.move(3, before: nil))),
        ("retry 12", .send(.retry(12))), ("archived", .archive), ("help", .help),
    ]) func aLineIsACommand(_ line: String, _ command: Command) throws {
        #expect(try Command(line) == command)
    }

    @Test(arguments: ["add", "edit", "done -1", "done 1 2", "move 3", "move 3 behind 1", "move a before b", "Quit"])
    func aLineIsNoCommand(_ line: String) {
        #expect(throws: CommandError.self) { try Command(line) }
    }

    /// What is archived is not in the list, and can be looked at.
    @Test func theListIsShown() {
        var state = Todo.State()
        #expect(state.text == "  nothing to do\n")
        state.items = [TodoItem(id: 12, title: "Call Ada"), TodoItem(id: 3, title: "Buy milk")]
        state.items.update(12) {
            $0.isDone = true
            $0.sync = .failed("busy")
        }
        #expect(state.text == "  12 [x] Call Ada  (failed: busy)\n   3 [ ] Buy milk  (syncing)\n")
        state.items.update(3) { $0.isArchived = true }
        #expect(state.text == "  12 [x] Call Ada  (failed: busy)\n")
        #expect(state.archiveText == "Archived:\n   3 [ ] Buy milk  (syncing)")
    }
}

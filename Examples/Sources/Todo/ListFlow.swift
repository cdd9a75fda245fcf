import Lockstep

/// The root flow of a terminal: carries out one command after the other, until the user leaves.
public struct ListFlow<List: ReadableStore<Todo>>: Flow {
    private let list: List
    private let dialogue: any Dialogue

    /// Makes the flow on a store of this process, or on a stub of one.
    public init(_ list: List, _ dialogue: any Dialogue) {
        self.list = list
        self.dialogue = dialogue
    }

    /// Whatever goes wrong with a command is told, and the next is asked for.
    public func run(_ scope: FlowScope) async throws {
        while let line = await dialogue.ask("> ") {
            do {
                switch try Command(line) {
                case .nothing: continue
                case .quit: return
                case .help: await dialogue.tell(Command.helpText)
                case .archive: await dialogue.tell(list.state.archiveText)
                case .send(let action): _ = try await list.send(action)
                case .edit(let id): try await edit(id, scope)
                }
            } catch let error as CommandError {
                await dialogue.tell(error.description)
            } catch let error as LockstepError where error.code == .rejected {
                await dialogue.tell("Refused: \(error.message).")
            } catch let error as LockstepError {
                await dialogue.tell("Not done: \(error.message)")
            }
        }
    }

    private func edit(_ id: Int, _ scope: FlowScope) async throws {
        guard let item = list.state.items[id: id], !item.isArchived else {
            throw CommandError(description: "There is no task \(id) to edit.")
        }
        switch try await scope.coordinate(EditFlow(item, dialogue)) {
        case .saved(let title): _ = try await list.send(.rename(id, to: title))
        case .cancelled: await dialogue.tell("Task \(id) stays as it was.")
        }
    }
}

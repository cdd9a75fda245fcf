import Lockstep

/// Where flows meet their user: a terminal, or a script in a test.
public protocol Dialogue: Sendable {
    /// Shows a prompt and waits for a line; nil at the end of the input.
    func ask(_ prompt: String) async -> String?
    /// Shows a text together with the next prompt.
    func tell(_ text: String) async
}

/// Edits a title: it knows nothing of the store, and ends with what the user decided.
public struct EditFlow: Flow {
    /// What the user decided.
    public enum Result: Hashable, Sendable {
        /// This is the title, which is not empty and not the old one.
        case saved(String)
        /// Everything stays as it is.
        case cancelled
    }

    private let item: TodoItem
    private let dialogue: any Dialogue

    /// Makes the flow for a task.
    public init(_ item: TodoItem, _ dialogue: any Dialogue) {
        self.item = item
        self.dialogue = dialogue
    }

    /// Who is dismissed has saved nothing.
    public var resultOfDismissal: Result? { .cancelled }

    /// Asks until the user saves or cancels.
    public func run(_ scope: FlowScope) async throws -> Result {
        var draft = item.title
        await dialogue.tell("Type a new title; an empty line saves, a single . cancels.")
        while let line = await dialogue.ask("title of task \(item.id) [\(draft)]: ") {
            switch line.trimmed {
            case "":
                return draft == item.title ? .cancelled : .saved(draft)
            case "." where draft == item.title:
                return .cancelled
            case ".":
                if try await scope.coordinate(ConfirmFlow("throw \"\(draft)\" away?", dialogue)) { return .cancelled }
            case let title:
                draft = title
            }
        }
        return .cancelled
    }
}

/// Asks a question that has to be answered by yes or no.
public struct ConfirmFlow: Flow {
    private let question: String
    private let dialogue: any Dialogue

    /// Makes the flow for a question.
    public init(_ question: String, _ dialogue: any Dialogue) {
        self.question = question
        self.dialogue = dialogue
    }

    /// Asks until the answer is one; the end of the input is a yes.
    public func run(_ scope: FlowScope) async throws -> Bool {
        while let line = await dialogue.ask("\(question) (y/n) ") {
            switch line.trimmed.lowercased() {
            case "y", "yes": return true
            case "n", "no": return false
            default: await dialogue.tell("Please answer y or n.")
            }
        }
        return true
    }
}

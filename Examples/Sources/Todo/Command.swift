/// A line that a user typed.
public enum Command: Hashable, Sendable {
    /// An empty line.
    case nothing
    /// An action for the primary.
    case send(Todo.Action)
    /// Edit a task's title.
    case edit(Int)
    /// Show what was put away.
    case archive
    /// Show the commands.
    case help
    /// Leave.
    case quit

    /// The commands, for a user.
    public static let helpText = """
        add TITLE             edit ID        done ID      undone ID
        move ID before ID     move ID end    archive ID   restore ID
        retry ID              archived       help         quit
        """

    /// Reads a line; throws ``CommandError`` for what is no command.
    public init(_ line: String) throws(CommandError) {
        let line = line.trimmed
        let name = line.prefix { !$0.isWhitespace }
        let rest = String(line.dropFirst(name.count)).trimmed
        switch name {
        case "": self = .nothing
        case "add":
            guard !rest.isEmpty else { throw CommandError(description: "add needs a title, as in: add Buy milk") }
            self = .send(.add(rest))
        case "edit": self = .edit(try Self.task(rest, name))
        case "done": self = .send(.setDone(try Self.task(rest, name), true))
        case "undone": self = .send(.setDone(try Self.task(rest, name), false))
        case "archive": self = .send(.setArchived(try Self.task(rest, name), true))
        case "restore": self = .send(.setArchived(try Self.task(rest, name), false))
        case "retry": self = .send(.retry(try Self.task(rest, name)))
        case "move": self = .send(try Self.move(rest))
        case "archived": self = .archive
        case "help": self = .help
        case "quit": self = .quit
        default: throw CommandError(description: "\"\(name)\" is no command; help shows them all.")
        }
    }

    private static func task(_ text: String, _ command: Substring) throws(CommandError) -> Int {
        guard let id = Int(text), id > 0 else {
            throw CommandError(description: "\(command) needs the number of a task, as in: \(command) 3")
        }
        return id
    }

    private static func move(_ text: String) throws(CommandError) -> Todo.Action {
        let words = text.split(whereSeparator: \.isWhitespace)
        if words.count == 2, words[1] == "end" { return .move(try task(String(words[0]), "move"), before: nil) }
        guard words.count == 3, words[1] == "before" else {
            throw CommandError(description: "move needs two tasks or the end, as in: move 3 before 1, move 3 end")
        }
        return .move(try task(String(words[0]), "move"), before: try task(String(words[2]), "move"))
    }
}

/// What is wrong with a line, for the user who typed it.
public struct CommandError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong and what would be right.
    public let description: String
}

import Foundation
import Lockstep
import Todo

/// A terminal: the list, a message, and a prompt, drawn anew whenever one of them changes.
///
/// What the user is typing stays in the terminal's own line, and is sent with the next Return; a change of the list only
/// hides it.
actor Screen: Dialogue {
    private let input = InputLines()
    private let clear = isatty(STDOUT_FILENO) == 1 ? "\u{1B}[H\u{1B}[2J" : ""
    private var state = Todo.State()
    private var readiness = StoreReadiness.connecting
    private var message = ""
    private var prompt = ""

    /// The list has changed.
    func show(_ state: Todo.State) {
        self.state = state
        draw()
    }

    /// The way to the primary has changed.
    func show(_ readiness: StoreReadiness) {
        self.readiness = readiness
        draw()
    }

    func tell(_ text: String) { message = text }

    func ask(_ prompt: String) async -> String? {
        self.prompt = prompt
        draw()
        let line = await input.next()
        message = ""
        return line
    }

    private func draw() {
        let head =
            switch readiness {
            case .connecting, .catchingUp: "connecting"
            case .live: "live"
            case .stale: "the server is away, this may be old"
            case .stopped: "stopped"
            }
        let parts = ["To do (\(head))\n\n", state.text, "\n", message.isEmpty ? "" : message + "\n", prompt]
        FileHandle.standardOutput.write(Data((clear + parts.joined()).utf8))
    }
}

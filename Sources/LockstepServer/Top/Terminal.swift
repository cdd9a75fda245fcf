import Dispatch
import Foundation
import LockstepConsole
import LockstepNode
import Synchronization

/// The end of a pipe into which the handler of signals writes; a process has one terminal.
private let signalEnd = Atomic<Int32>(-1)

/// The terminal that `top` draws on: another screen, keys without echo, and all as it was at the end.
///
/// What a terminal sends is read, and signals are taken, on one queue; the rest is used by one task. A signal that ends
/// the program comes as an event, so that the terminal is put in order before.
final class Terminal {
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH]
    /// Another screen, and no cursor; and back.
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l"
    private static let leave = "\u{1B}[?25h\u{1B}[?1049l"

    private let queue = DispatchQueue(label: "lockstep-top")
    private var sources: [any DispatchSourceProtocol] = []
    private var original: termios?
    private let hasColours: Bool
    private let sparkline: Sparkline

    /// Begins to read keys and to take signals; ``begin()`` begins to draw.
    ///
    /// A signal that comes after this has returned never leaves the terminal as it is drawn on. Its handler writes its
    /// number to a pipe: a dispatch source of signals misses some on Linux, where the main thread does not block them.
    ///
    /// - Throws: ``LockstepError`` of code `unavailable` if the process has no descriptors left.
    init(bytes: @escaping @Sendable ([UInt8]) -> Void, signals take: @escaping @Sendable (Int32) -> Void) throws {
        let environment = ProcessInfo.processInfo.environment
        // no-color.org: present and not empty.
        hasColours = environment["NO_COLOR"]?.isEmpty ?? true && environment["TERM"] != "dumb"
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        sparkline = Sparkline(isPlain: !locale.lowercased().replacing("-", with: "").contains("utf8"))
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw LockstepError(.unavailable, "there is no pipe for signals: too many files are open")
        }
        let numbers = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: queue)
        numbers.setEventHandler { [end = ends[0]] in
            var buffer = [UInt8](repeating: 0, count: 64)
            let count = read(end, &buffer, buffer.count)
            for number in buffer.prefix(max(0, count)) { take(Int32(number)) }
        }
        numbers.resume()
        sources.append(numbers)
        signalEnd.store(ends[1], ordering: .releasing)
        for number in Self.signals { signal(number, Self.note) }
        let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        keys.setEventHandler {
            var buffer = [UInt8](repeating: 0, count: 256)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            // The end of the input takes no more keys; signals end the program then.
            guard count > 0 else {
                keys.cancel()
                return
            }
            bytes(Array(buffer[..<count]))
        }
        keys.resume()
        sources.append(keys)
    }

    /// The handler of signals; it does only what a handler may.
    private static let note: @convention(c) (Int32) -> Void = { number in
        let kept = errno
        var byte = UInt8(truncatingIfNeeded: number)
        // A pipe that is full has thousands of them.
        _ = write(signalEnd.load(ordering: .acquiring), &byte, 1)
        errno = kept
    }

    /// Takes the screen; again after the process was continued.
    func begin() {
        if original == nil {
            var settings = termios()
            if tcgetattr(STDIN_FILENO, &settings) == 0 { original = settings }
        }
        if var settings = original {
            // Signals of keys stay: Ctrl-C and Ctrl-Z do what they do everywhere.
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            // Such a key would throw away what is written and not shown yet, and so how the screen is given back.
            settings.c_lflag |= tcflag_t(NOFLSH)
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
        }
        put(Self.enter + "\u{1B}[2J")
    }

    /// Gives the screen back.
    func end() {
        if var original { tcsetattr(STDIN_FILENO, TCSANOW, &original) }
        put(Self.leave)
    }

    /// Draws a frame of the terminal's present size.
    func show(_ model: TopModel) {
        let (columns, rows) = Self.size
        let frame = model.frame(columns: columns, rows: rows, sparkline: sparkline)
        let lines = frame.coded(colours: hasColours).map { $0 + "\u{1B}[K" }
        put("\u{1B}[H" + lines.joined(separator: "\r\n") + "\u{1B}[J")
    }

    /// Whether the terminal is this process's; a job that runs in the background must not draw on it.
    var isInForeground: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Stops the process, as SIGTSTP does by default, with the screen given back.
    ///
    /// This thread may go on for a moment before the stop reaches it: nothing is drawn until SIGCONT has come.
    func stop() {
        end()
        stopAgain()
    }

    /// Stops the process once more, which has no screen.
    func stopAgain() {
        // It cannot be ignored.
        kill(getpid(), SIGSTOP)
    }

    /// Ends the process by a signal, as if nothing had taken it, so that the shell sees why.
    static func die(of number: Int32) -> Never {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        exit(128 + number)
    }

    private static var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return (80, 24)
        }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    private func put(_ text: String) {
        // A terminal that is gone sends SIGHUP, which ends the program.
        try? FileHandle.standardOutput.write(contentsOf: Data(text.utf8))
    }
}

import Foundation
import LockstepConsole

/// `top` on a terminal: takes keys, signals and looks in the order in which they come, and draws.
struct TopScreen {
    let places: [NodeLocation]
    let keys: LinkKeys
    let frames: Int?

    private enum Event: Sendable {
        case looks([TopModel.Look], at: Double)
        case bytes([UInt8])
        case signal(Int32)
    }

    /// Runs until a key, a signal or the number of tables ends it; the terminal is as it was then.
    func run() async throws {
        // A terminal that sends faster than this draws loses the oldest; so does a look that is late.
        let (events, feed) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingNewest(256))
        let terminal = try Terminal(
            bytes: { feed.yield(.bytes($0)) }, signals: { feed.yield(.signal($0)) })
        terminal.begin()
        let ending = await withTaskGroup(of: Void.self) { group in
            group.addTask { await look(feed) }
            defer { group.cancelAll() }
            return await draw(events, on: terminal)
        }
        terminal.end()
        if let ending { Terminal.die(of: ending) }
    }

    private func look(_ feed: AsyncStream<Event>.Continuation) async {
        while !Task.isCancelled {
            feed.yield(.looks(await TopLooks.at(places, by: keys), at: TopLooks.now))
            // Only the end of the program ends the sleep early.
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }

    /// Returns the signal that ended it, if one did.
    private func draw(_ events: AsyncStream<Event>, on terminal: Terminal) async -> Int32? {
        var model = TopModel()
        var count = 0
        // Whether the process was told to stop, and SIGCONT has not come.
        var isStopped = false
        terminal.show(model)
        for await event in events {
            switch event {
            case .looks(let looks, let time):
                model.take(looks, at: time)
                count += 1
            case .bytes(let bytes):
                for key in TopKey.keys(in: bytes) { model.press(key) }
            case .signal(SIGWINCH): break
            case .signal(SIGTSTP):
                isStopped = true
                terminal.stop()
            case .signal(SIGCONT) where terminal.isInForeground:
                isStopped = false
                terminal.begin()
            case .signal(SIGCONT):
                isStopped = true
                terminal.stopAgain()
            case .signal(let signal): return signal
            }
            guard model.isRunning else { return nil }
            if !isStopped { terminal.show(model) }
            if let frames, count >= frames { return nil }
        }
        return nil
    }
}

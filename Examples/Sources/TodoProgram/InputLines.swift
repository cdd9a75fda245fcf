import Foundation

/// The lines of standard input, read by a thread of its own, because reading them blocks.
///
/// The thread reads a line when one is asked for, so nothing piles up.
struct InputLines: Sendable {
    private let wanted = DispatchSemaphore(value: 0)
    private let lines: AsyncStream<String>

    init() {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(1))
        self.lines = lines
        let wanted = wanted
        Thread.detachNewThread {
            while true {
                wanted.wait()
                guard let line = readLine() else { return continuation.finish() }
                continuation.yield(line)
            }
        }
    }

    /// The next line; nil at the end of the input, or when the task is cancelled.
    func next() async -> String? {
        wanted.signal()
        for await line in lines { return line }
        return nil
    }
}

public import Logging

extension AsyncSequence where Self: Sendable {
    /// Writes a line for the beginning, each value, the end and a failure to a sink, and passes everything on.
    ///
    /// An iterator that goes away before the end is noted too, as `dropped`. Nothing is changed, delayed or held.
    /// - Parameters:
    ///   - label: what the lines begin with.
    ///   - describe: the text of a value, given the value before it, so that it can say what is different; by default
    ///     the value as text.
    ///   - sink: where the lines go; it is called on the consumer's task.
    /// - Returns: this sequence, with its lines.
    public func logged(
        _ label: String,
        describe: @escaping @Sendable (_ previous: Element?, _ value: Element) -> String = { String(describing: $1) },
        to sink: @escaping @Sendable (String) -> Void
    ) -> LoggedSequence<Self> {
        LoggedSequence(base: self, describe: describe) { sink("\(label): \($0)") }
    }

    /// Writes a line for the beginning, each value, the end and a failure to a logger, and passes everything on.
    ///
    /// The values are written too: do not use it where they are secret.
    /// - Parameters:
    ///   - label: goes into the metadata, under `lockstep.label`.
    ///   - logger: what writes the lines.
    ///   - level: their level; `debug` by default.
    /// - Returns: this sequence, with its lines.
    public func logged(_ label: String, to logger: Logger, level: Logger.Level = .debug) -> LoggedSequence<Self> {
        LoggedSequence(base: self, describe: { String(describing: $1) }) { line in
            logger.log(level: level, "sequence event", metadata: ["lockstep.label": "\(label)", "event": "\(line)"])
        }
    }
}

/// A sequence that notes what passes; see `logged(_:describe:to:)`.
public struct LoggedSequence<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable {
    /// What the base gives.
    public typealias Element = Base.Element
    /// How the base fails.
    public typealias Failure = Base.Failure

    let base: Base
    let describe: @Sendable (Base.Element?, Base.Element) -> String
    let sink: @Sendable (String) -> Void

    /// Begins, and notes it.
    public func makeAsyncIterator() -> Iterator {
        sink("begun")
        return Iterator(base: base.makeAsyncIterator(), describe: describe, lifetime: Lifetime(sink))
    }

    /// Notes the end; exactly one, whichever comes first.
    final class Lifetime {
        let sink: @Sendable (String) -> Void
        private var isOver = false

        init(_ sink: @escaping @Sendable (String) -> Void) { self.sink = sink }
        deinit { end("dropped") }

        func end(_ line: String) {
            guard !isOver else { return }
            isOver = true
            sink(line)
        }
    }

    /// Passes on what the base gives.
    public struct Iterator: AsyncIteratorProtocol {
        private var base: Base.AsyncIterator
        private let describe: @Sendable (Base.Element?, Base.Element) -> String
        private let lifetime: Lifetime
        private var previous: Base.Element?

        init(
            base: Base.AsyncIterator, describe: @escaping @Sendable (Base.Element?, Base.Element) -> String,
            lifetime: Lifetime
        ) {
            self.base = base
            self.describe = describe
            self.lifetime = lifetime
        }

        /// What the base gives.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Base.Element? {
            do throws(Base.Failure) {
                guard let value = try await base.next(isolation: #isolation) else {
                    lifetime.end(Task.isCancelled ? "cancelled" : "ended")
                    return nil
                }
                lifetime.sink("value \(describe(previous, value))")
                previous = value
                return value
            } catch {
                lifetime.end("failed \(error)")
                throw error
            }
        }
    }
}

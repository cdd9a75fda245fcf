public import LockstepNode

extension AsyncSequence where Self: Sendable, Element: Sendable, Failure == Never {
    /// Fails with ``LockstepError/Code-swift.struct/timeout`` when the source is silent for `gap`.
    ///
    /// Each gap is measured, the one before the first value too: it begins when the consumer asks for a value and
    /// the source has none ready, so a slow consumer is never taken for a silent source.
    /// - Parameters:
    ///   - gap: the longest silence.
    ///   - clock: what measures it.
    /// - Returns: the values, until a silence.
    public func timeout(
        _ gap: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> some AsyncSequence<Element, LockstepError> & Sendable {
        OperatorSequence(
            machine: { TimeoutMachine<Element, LockstepError>(gap: gap) { .failed(.silence(of: gap)) } },
            clock: clock, readers: [{ await $0.read(self, failure: { $0 }) }])
    }
}

extension AsyncSequence where Self: Sendable, Element: Sendable {
    /// Fails with ``LockstepError/Code-swift.struct/timeout`` when the source is silent for `gap`.
    ///
    /// Each gap is measured, the one before the first value too: it begins when the consumer asks for a value and
    /// the source has none ready, so a slow consumer is never taken for a silent source.
    /// - Parameters:
    ///   - gap: the longest silence.
    ///   - clock: what measures it.
    /// - Returns: the values, until a silence.
    public func timeout(
        _ gap: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> some AsyncSequence<Element, any Error> & Sendable {
        OperatorSequence(
            machine: { TimeoutMachine<Element, any Error>(gap: gap) { .failed(LockstepError.silence(of: gap)) } },
            clock: clock, readers: [{ await $0.read(self, failure: { $0 }) }])
    }

    /// Goes on with another sequence when this one is silent for `gap`.
    ///
    /// The gaps are those of ``timeout(_:clock:)``; those of the other sequence are not measured. This sequence is
    /// cancelled, and has ended, before the other one begins.
    /// - Parameters:
    ///   - gap: the longest silence.
    ///   - clock: what measures it.
    ///   - other: what follows a silence.
    /// - Returns: the values of this sequence, and those of the other after a silence.
    public func timeout<Other: AsyncSequence & Sendable>(
        _ gap: Duration, clock: any Clock<Duration> = ContinuousClock(), switchingTo other: Other
    ) -> some AsyncSequence<Element, Failure> & Sendable where Other.Element == Element, Other.Failure == Failure {
        let first = OperatorSequence(
            machine: { TimeoutMachine<Element, SilenceOr<Failure>>(gap: gap) { .failed(.silence) } },
            clock: clock, readers: [{ await $0.read(self, failure: { .failure($0) }) }])
        return SwitchOnSilence(first: first, other: other)
    }
}

extension LockstepError {
    fileprivate static func silence(of gap: Duration) -> LockstepError {
        LockstepError(.timeout, "the source gave nothing for \(gap); ask again, or give it more time")
    }
}

/// Watches the time while the consumer waits for the source.
struct TimeoutMachine<Element: Sendable, Failure: Error>: OperatorMachine {
    let gap: Duration
    let onSilence: @Sendable () -> Outbox<Element, Failure>.Ending
    var outbox = Outbox<Element, Failure>()
    private(set) var deadline: Duration?

    init(gap: Duration, onSilence: @escaping @Sendable () -> Outbox<Element, Failure>.Ending) {
        self.gap = gap
        self.onSilence = onSilence
    }

    mutating func handle(_ event: OperatorEvent<Element, Failure>, at now: Duration) {
        switch event {
        case .demanded:
            if outbox.isEmpty { deadline = now + gap }
        case .value(let value):
            deadline = nil
            outbox.append(value)
        case .timePassed:
            deadline = nil
            outbox.ending = onSilence()
        case .ended:
            outbox.ending = .ended
        case .failed(let failure):
            outbox.ending = .failed(failure)
        case .sideFired, .sideEnded:
            break
        }
    }
}

/// A silence, or the source's own failure.
enum SilenceOr<Failure: Error>: Error {
    case silence
    case failure(Failure)
}

/// The first sequence until it is silent, then the other one.
struct SwitchOnSilence<Element: Sendable, Other: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Other.Element == Element {
    typealias Failure = Other.Failure
    typealias First = OperatorSequence<TimeoutMachine<Element, SilenceOr<Failure>>>

    let first: First
    let other: Other

    func makeAsyncIterator() -> Iterator { Iterator(first: first.makeAsyncIterator(), other: other) }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Other.Failure

        private var first: First.Iterator?
        private var second: Other.AsyncIterator?
        private let other: Other

        init(first: First.Iterator, other: Other) {
            self.first = first
            self.other = other
        }

        mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            do throws(SilenceOr<Failure>) {
                if let value = try await first?.next(isolation: #isolation) { return value }
            } catch {
                switch error {
                case .silence: second = other.makeAsyncIterator()
                case .failure(let failure):
                    first = nil
                    throw failure
                }
            }
            first = nil
            return try await second?.next(isolation: #isolation)
        }
    }
}

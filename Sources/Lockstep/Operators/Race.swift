/// Follows whichever of the sources has an event first, and drops the others.
///
/// A value, an end and a failure are all events. The sources are asked in the order of the arguments, and when
/// several have an event at the moment of the decision, the earliest argument wins: a source that has one ready when it
/// is asked beats all later arguments. The losers are cancelled, and have ended before the first event is delivered.
///
/// Sources that wait, and are woken by one and the same change, answer in the order in which the system runs their
/// tasks. Where that order matters, let one sequence decide: several conditions on one state belong into one closure
/// of `results(_:_:)`.
/// - Parameter sources: who takes part; with none, the result ends at once.
/// - Returns: the sequence of the winner.
public func race<Element: Sendable, Failure: Error>(
    _ sources: any AsyncSequence<Element, Failure> & Sendable...
) -> Race<Element, Failure> {
    Race(sources: sources)
}

/// The sequence of the source that had an event first; see ``race(_:)``.
public struct Race<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    let sources: [any AsyncSequence<Element, Failure> & Sendable]

    /// Begins a race; the sources are asked at the first call of `next()`.
    public func makeAsyncIterator() -> Iterator { Iterator(referee: Referee(sources, takes: .anyEvent)) }

    /// Waits for the winner.
    public struct Iterator: AsyncIteratorProtocol {
        private let referee: Referee<Element, Failure>
        private var isDecided = false

        init(referee: Referee<Element, Failure>) { self.referee = referee }

        /// The next value of the winner; the first call decides who that is.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
            let event = isDecided ? await referee.nextOfWinner() : await referee.decide()
            isDecided = true
            return try event.get()
        }
    }
}

/// Asks several sources at once, and keeps the one that answered first.
///
/// Its readers are all isolated to it, so that their answers have an order.
actor Referee<Element: Sendable, Failure: Error> {
    /// What ends the race.
    enum Rule: Sendable {
        /// The first value, end or failure.
        case anyEvent
        /// The first value or failure; an end counts when nobody is left.
        case valueOrFailure
    }

    typealias Event = Result<Element?, Failure>

    private let rule: Rule
    private var iterators: [(any AsyncIteratorProtocol<Element, Failure>)?]
    private var answers: [Event?]
    private var winner: Int?

    init(_ sources: [any AsyncSequence<Element, Failure> & Sendable], takes rule: Rule) {
        self.rule = rule
        iterators = sources.map { $0.makeAsyncIterator() }
        answers = sources.map { _ in nil }
    }

    /// The first event; all sources but its own have ended when this returns.
    func decide() async -> Event {
        await withTaskGroup(of: Void.self) { group in
            for number in iterators.indices {
                // Each reader runs up to its first wait before the next one starts, so a source that is ready answers
                // before any later one is asked.
                if #available(macOS 26, *) {
                    group.addImmediateTask { await self.ask(number) }
                } else {
                    group.addTask { await self.ask(number) }
                }
                if decision != nil { break }
            }
            while decision == nil, await group.next() != nil {}
            winner = decision
            group.cancelAll()
        }
        for number in iterators.indices where number != winner { iterators[number] = nil }
        return winner.flatMap { answers[$0].take() } ?? .success(nil)
    }

    /// The next event of the source that won.
    func nextOfWinner() async -> Event {
        guard let winner else { return .success(nil) }
        await ask(winner)
        return answers[winner].take() ?? .success(nil)
    }

    /// The earliest argument whose answer ends the race.
    private var decision: Int? {
        answers.firstIndex { answer in
            switch answer {
            case nil: false
            case .success(nil): rule == .anyEvent
            case .success, .failure: true
            }
        }
    }

    private func ask(_ number: Int) async {
        guard var iterator = iterators[number] else { return }
        do throws(Failure) {
            answers[number] = .success(try await iterator.next(isolation: self))
            iterators[number] = iterator
        } catch {
            answers[number] = .failure(error)
            iterators[number] = nil
        }
    }
}

import Lockstep
import LockstepTesting

/// What a scripted source does.
enum Step<Element: Sendable>: Sendable {
    case value(Element)
    case end
    case fail(Planned)
}

/// A failure that a test plans.
struct Planned: Error, Equatable {
    var number = 0
}

/// A source that gives its values at given times of a virtual clock, and notes what becomes of it.
struct Script<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = Planned

    let clock: VirtualClock
    let steps: [(at: Int, step: Step<Element>)]
    let life = Life()

    /// Times are in seconds.
    init(_ clock: VirtualClock, _ steps: [(at: Int, step: Step<Element>)]) {
        self.clock = clock
        self.steps = steps
    }

    /// Values at given seconds, then the end.
    init(_ clock: VirtualClock, values: [(Int, Element)], endAt: Int) {
        self.init(clock, values.map { ($0.0, .value($0.1)) } + [(endAt, .end)])
    }

    func makeAsyncIterator() -> Iterator {
        life.begun.accept(life.begun.value + 1)
        return Iterator(clock: clock, steps: steps[...], life: life)
    }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Planned

        let clock: VirtualClock
        var steps: ArraySlice<(at: Int, step: Step<Element>)>
        let life: Life

        mutating func next() async throws(Planned) -> Element? {
            guard let (at, step) = steps.popFirst() else {
                // Silence after the last step.
                do { try await clock.sleep(for: .seconds(1_000_000)) } catch { life.note("cancelled") }
                return nil
            }
            do { try await clock.sleep(until: .init(offset: .seconds(at))) } catch {
                life.note("cancelled")
                return nil
            }
            switch step {
            case .value(let value):
                life.note("gave \(value)")
                return value
            case .end:
                life.note("ended")
                return nil
            case .fail(let failure):
                life.note("failed")
                throw failure
            }
        }
    }
}

/// A source that cannot fail: its values at given seconds, then the end, or silence.
struct QuietScript<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = Never

    let script: Script<Element>

    init(_ clock: VirtualClock, values: [(Int, Element)], endAt: Int? = nil) {
        script = Script(clock, values.map { ($0.0, .value($0.1)) } + (endAt.map { [($0, .end)] } ?? []))
    }

    func makeAsyncIterator() -> Iterator { Iterator(base: script.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Never
        var base: Script<Element>.Iterator

        mutating func next() async -> Element? {
            do { return try await base.next() } catch { return nil }
        }
    }
}

/// What became of a source, in order.
final class Life: Sendable {
    let begun = CurrentValue(0)
    private let notes = CurrentValue<[String]>([])

    var all: [String] { notes.value }
    func note(_ text: String) { notes.update { $0.append(text) } }
}

extension AsyncSequence where Element: Sendable {
    /// Everything that comes, with its time in seconds, as `time:value`; the last line is the end or the failure.
    func record(_ clock: VirtualClock) async -> [String] {
        var lines: [String] = []
        var iterator = makeAsyncIterator()
        do {
            while let value = try await iterator.next(isolation: #isolation) {
                lines.append("\(clock.seconds):\(value)")
            }
            lines.append("\(clock.seconds):end")
        } catch {
            lines.append("\(clock.seconds):\((error as? Planned).map { "failed \($0.number)" } ?? "\(error)")")
        }
        return lines
    }
}

extension VirtualClock {
    /// Where it stands, in whole seconds.
    var seconds: Int64 { elapsed.components.seconds }
}

/// Numbers from a seed.
struct Numbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 32) ^ (state << 32)
    }
}

/// A source that does not heed cancellation.
struct Stubborn: AsyncSequence, Sendable {
    typealias Failure = Never

    let waiting = CurrentValue<CheckedContinuation<Void, Never>?>(nil)
    let hasEnded = CurrentValue(false)

    func makeAsyncIterator() -> Iterator { Iterator(source: self) }

    struct Iterator: AsyncIteratorProtocol {
        typealias Failure = Never

        let source: Stubborn
        var isFirst = true

        mutating func next() async -> Int? {
            if isFirst {
                isFirst = false
                return 1
            }
            await withCheckedContinuation { source.waiting.accept($0) }
            source.hasEnded.accept(true)
            return nil
        }
    }
}

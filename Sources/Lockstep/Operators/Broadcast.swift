internal import DequeModule
import Synchronization

/// Sends each value to all who subscribe at that moment, each of whom has a buffer of its own with a bound.
///
/// Nothing is repeated for those who come later. Sending never waits: a subscriber whose buffer is full loses
/// its oldest value, and learns how many it lost, at the place where they are missing; the others are not concerned.
public final class Broadcast<Value: Sendable>: Sendable {
    private let hub = Hub()

    /// Makes a broadcast without subscribers.
    public init() {}

    deinit { hub.finish() }

    /// Sends a value to all subscribers; false if the broadcast has been finished.
    @discardableResult public func send(_ value: Value) -> Bool { hub.send(value) }

    /// Ends all subscriptions, each after what waits in its buffer; later ones end at once.
    ///
    /// A broadcast that is no longer held is finished too.
    public func finish() { hub.finish() }

    /// How many subscriptions there are.
    public var subscriberCount: Int { hub.subscriberCount }

    /// Subscribes, from this call on.
    ///
    /// A subscription is for one consumer; it ends with its last copy or iterator.
    /// - Parameter bufferLimit: how many values may wait for the consumer; at least 1, 256 by default.
    /// - Returns: what is sent from now on.
    public func subscribe(bufferLimit: Int = 256) -> Subscription {
        precondition(bufferLimit >= 1, "a buffer has room for a value")
        return Subscription(Subscriber(hub: hub, limit: bufferLimit))
    }

    /// What a subscriber gets.
    public enum Event: Sendable {
        /// A value.
        case value(Value)
        /// So many values, one or more, were lost at this place, since the buffer was full.
        case missed(Int)
    }

    /// The values sent to one subscriber, with a mark wherever some were lost; see ``subscribe(bufferLimit:)``.
    public struct Subscription: AsyncSequence, Sendable {
        /// A value, or how many are missing.
        public typealias Element = Event
        /// It does not fail.
        public typealias Failure = Never

        private let subscriber: Subscriber

        fileprivate init(_ subscriber: Subscriber) { self.subscriber = subscriber }

        /// Goes on where the subscription is.
        public func makeAsyncIterator() -> Iterator { Iterator(subscriber: subscriber) }

        /// The values alone; it fails where one is missing, for consumers that must not go on then.
        public var gapless: GaplessValues { GaplessValues(events: self) }

        /// Waits for events.
        public struct Iterator: AsyncIteratorProtocol {
            /// It does not fail.
            public typealias Failure = Never

            fileprivate let subscriber: Subscriber

            /// The next event; `nil` when the broadcast is finished, or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Event? {
                await subscriber.next()
            }
        }
    }

    /// The values of a subscription; see ``Subscription/gapless``.
    public struct GaplessValues: AsyncSequence, Sendable {
        /// A value.
        public typealias Element = Value
        /// Some were lost.
        public typealias Failure = BroadcastOverflow

        fileprivate let events: Subscription

        /// Goes on where the subscription is.
        public func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

        /// Waits for values.
        public struct Iterator: AsyncIteratorProtocol {
            /// Some were lost.
            public typealias Failure = BroadcastOverflow

            fileprivate var events: Subscription.Iterator

            /// The next value; `nil` when the broadcast is finished, or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(BroadcastOverflow) -> Value?
            {
                switch await events.next(isolation: #isolation) {
                case nil: nil
                case .value(let value): value
                case .missed(let count): throw BroadcastOverflow(missed: count)
                }
            }
        }
    }
}

/// A consumer was too slow for its buffer.
public struct BroadcastOverflow: Error, Hashable, CustomStringConvertible {
    /// How many values it has lost.
    public let missed: Int

    /// Makes a failure.
    public init(missed: Int) { self.missed = missed }

    /// What happened, and what to do about it.
    public var description: String {
        "\(missed) values were lost by a slow consumer; give it a larger buffer, or read the current state instead"
    }
}

extension Broadcast {
    /// All subscribers; they know the hub, and the hub holds none of them.
    fileprivate final class Hub: Sendable {
        private struct Contents {
            var subscribers: [(id: UInt64, mailbox: Mailbox)] = []
            var lastID: UInt64 = 0
            var isFinished = false
        }

        private let contents = Mutex(Contents())

        var subscriberCount: Int { contents.withLock { $0.subscribers.count } }

        func add(_ mailbox: Mailbox) -> UInt64 {
            let (id, isFinished) = contents.withLock { contents in
                contents.lastID += 1
                if !contents.isFinished { contents.subscribers.append((contents.lastID, mailbox)) }
                return (contents.lastID, contents.isFinished)
            }
            if isFinished { mailbox.finish() }
            return id
        }

        func remove(_ id: UInt64) {
            contents.withLock { $0.subscribers.removeAll { $0.id == id } }
        }

        func send(_ value: Value) -> Bool {
            // Under the lock, so that all subscribers see concurrent values in one order; the mailboxes only store.
            let (isFinished, results) = contents.withLock { contents in
                (contents.isFinished, contents.subscribers.map { $0.mailbox.store(value) })
            }
            // Here the lost values are let go, too: the end of a value's life may run user code.
            for result in results { result.consumer?.resume() }
            return !isFinished
        }

        func finish() {
            let subscribers = contents.withLock { contents in
                contents.isFinished = true
                defer { contents.subscribers = [] }
                return contents.subscribers
            }
            for subscriber in subscribers { subscriber.mailbox.finish() }
        }
    }

    /// One subscription: it leaves the hub when nobody holds it.
    fileprivate final class Subscriber: Sendable {
        private let hub: Hub
        private let mailbox: Mailbox
        private let id: UInt64

        init(hub: Hub, limit: Int) {
            self.hub = hub
            mailbox = Mailbox(limit: limit)
            id = hub.add(mailbox)
        }

        deinit { hub.remove(id) }

        func next() async -> Event? { await mailbox.next() }
    }

    /// The buffer of one subscriber.
    fileprivate final class Mailbox: Sendable {
        private struct Contents {
            var values: Deque<Value> = []
            /// Lost before `values`.
            var missed = 0
            var isFinished = false
            var consumer: CheckedContinuation<Void, Never>?
        }

        private let contents = Mutex(Contents())
        private let limit: Int

        init(limit: Int) { self.limit = limit }

        /// Keeps a value, and returns the one that was lost for it, and the consumer if it waits.
        func store(_ value: Value) -> (lost: Value?, consumer: CheckedContinuation<Void, Never>?) {
            contents.withLock { contents in
                var lost: Value?
                if contents.values.count == limit {
                    lost = contents.values.popFirst()
                    contents.missed += 1
                }
                contents.values.append(value)
                return (lost, contents.consumer.take())
            }
        }

        func finish() {
            let consumer = contents.withLock { contents in
                contents.isFinished = true
                return contents.consumer.take()
            }
            consumer?.resume()
        }

        func next() async -> Event? {
            while !Task.isCancelled {
                let (event, isOver): (Event?, Bool) = contents.withLock { contents in
                    if contents.missed > 0 {
                        defer { contents.missed = 0 }
                        return (.missed(contents.missed), false)
                    }
                    if let value = contents.values.popFirst() { return (.value(value), false) }
                    return (nil, contents.isFinished)
                }
                if event != nil || isOver { return event }
                await wait()
            }
            return nil
        }

        private func wait() async {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isOver = contents.withLock { contents in
                        precondition(contents.consumer == nil, "a subscription has one consumer")
                        // A cancellation before this is seen here; a later one finds the consumer.
                        if !contents.values.isEmpty || contents.isFinished || Task.isCancelled { return true }
                        contents.consumer = continuation
                        return false
                    }
                    if isOver { continuation.resume() }
                }
            } onCancel: {
                contents.withLock { $0.consumer.take() }?.resume()
            }
        }
    }
}

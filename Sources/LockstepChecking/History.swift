/// The place of an entry in a store's log: its sequence number, and the epoch that wrote it.
package struct LogPlace: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The epoch of the primary that wrote the entry.
    package var epoch: UInt64
    /// The sequence number, from 1; 0 is before the first entry.
    package var sequence: UInt64

    /// Makes a place.
    package init(epoch: UInt64, sequence: UInt64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// `epoch:sequence`.
    package var description: String { "\(epoch):\(sequence)" }

    /// By epoch, then by sequence number; in a sound log both orders agree (PROTOCOL, R-6).
    package static func < (left: LogPlace, right: LogPlace) -> Bool {
        (left.epoch, left.sequence) < (right.epoch, right.sequence)
    }
}

/// One operation of one client: what was asked, when, and what the client or the log says became of it.
///
/// There are three outcomes:
/// - *answered*: ``returned`` and ``output`` are known. A rejection is an answer like any other: it is certainly
///   without effect, and it has its place in the order.
/// - *unknown*: ``returned`` is `nil`. The operation may take effect at any time after its invocation, or never.
/// - *unknown to the client, known from the log*: ``returned`` is `nil`, and ``place`` or ``output`` is known. It takes
///   effect at some time after its invocation.
package struct Operation<Input: Sendable, Output: Sendable>: Sendable {
    /// The client; one number stands for one session, and sessions are checked each on its own.
    package var client: Int
    /// The session's number of a write; `nil` for a read, and where numbers are not recorded.
    package var number: UInt64?
    /// When the client asked, in nanoseconds of any clock that all clients share; also a plain count of events.
    package var invoked: Int64
    /// When the client learned the outcome, on the same clock; `nil` if it never did.
    package var returned: Int64?
    /// What was asked.
    package var input: Input
    /// What was answered; `nil` if unknown.
    package var output: Output?
    /// Of a write its place in the log; of a read the place of the last entry in the state that it was answered from.
    package var place: LogPlace?

    /// Makes an operation; an answer's time must come with the answer, and not before the invocation.
    package init(
        client: Int, number: UInt64? = nil, invoked: Int64, returned: Int64? = nil, input: Input, output: Output? = nil,
        place: LogPlace? = nil
    ) {
        precondition(returned == nil || output != nil, "an operation that returned has an output")
        precondition(returned.map { $0 >= invoked } ?? true, "an operation returns after its invocation")
        self.client = client
        self.number = number
        self.invoked = invoked
        self.returned = returned
        self.input = input
        self.output = output
        self.place = place
    }

    /// Whether it is certain that the operation stands somewhere in the order.
    package var isOrdered: Bool { returned != nil || output != nil || place != nil }
}

extension Operation: CustomStringConvertible {
    /// One line: client, number, times, input, output and place; `?` stands for what is unknown.
    package var description: String {
        let number = number.map { " #\($0)" } ?? ""
        let returned = returned.map(String.init) ?? "?"
        let output = output.map { "\($0)" } ?? "?"
        let place = place.map { " at \($0)" } ?? ""
        return "client \(client)\(number) [\(invoked), \(returned)] \(input) -> \(output)\(place)"
    }
}

/// The operations of a run in the order of their invocations, as it is recorded.
///
/// It is a value with one owner: tasks that share a recorder guard it with a lock of their own. Recording costs an
/// append.
package struct History<Input: Sendable, Output: Sendable>: Sendable {
    /// What was recorded; findings name operations by their index in it.
    package private(set) var operations: [Operation<Input, Output>] = []

    /// Makes an empty history.
    package init() {}

    /// Records that a client asks, and returns the operation's index for ``complete(_:at:_:place:)``.
    package mutating func invoke(_ input: Input, by client: Int, number: UInt64? = nil, at time: Int64) -> Int {
        operations.append(Operation(client: client, number: number, invoked: time, input: input))
        return operations.count - 1
    }

    /// Records the answer that the client received; once for each operation.
    package mutating func complete(_ index: Int, at time: Int64, _ output: Output, place: LogPlace? = nil) {
        precondition(operations[index].returned == nil, "the operation has returned already")
        precondition(time >= operations[index].invoked, "an operation returns after its invocation")
        operations[index].returned = time
        operations[index].output = output
        operations[index].place = place
    }

    /// Records what the log says about an operation whose outcome its client never learned.
    package mutating func resolve(_ index: Int, _ output: Output?, place: LogPlace) {
        precondition(operations[index].returned == nil, "the operation has returned already")
        operations[index].output = output
        operations[index].place = place
    }
}

import DequeModule

/// Answers that may leave when what they show has committed, in the order of what they wait for.
///
/// Answers to numbers are bounded by what may wait for the journal; messages by ``Limits/waitingAnswers``.
package struct PendingAnswers: Hashable, Sendable {
    /// An answer that may leave when `sequence` has committed.
    struct Answer: Hashable, Sendable {
        var sequence: SequenceNumber
        var content: Content
    }

    enum Content: Hashable, Sendable {
        /// The kept replies to these numbers.
        case results(SessionID, ClosedRange<RequestNumber>)
        case message(Message, Connection)
        /// An emission's ticket, and the entry that it became.
        case emission(UInt64, SequenceNumber)
        case end(RunID)
    }

    private var answers: Deque<Answer> = []
    /// How many of ``answers`` are messages.
    private var messageCount = 0

    mutating func append(_ content: Content, at sequence: SequenceNumber) {
        answers.append(Answer(sequence: sequence, content: content))
    }

    /// Keeps a message; above the limit it is dropped, and whoever waits for it repeats what it asked.
    mutating func append(_ message: Message, to connection: Connection, at sequence: SequenceNumber) {
        guard messageCount < Limits.waitingAnswers else { return }
        messageCount += 1
        append(.message(message, connection), at: sequence)
    }

    /// Keeps the answers to numbers that were sequenced up to `sequence`.
    ///
    /// They join the answer before them if that is to the numbers just before, and if `joins` says of its sequence
    /// number that it commits no earlier.
    mutating func append(
        _ numbers: ClosedRange<RequestNumber>, of session: SessionID, at sequence: SequenceNumber,
        joining joins: (SequenceNumber) -> Bool
    ) {
        if let last = answers.last, case .results(session, let before) = last.content,
            before.upperBound + 1 == numbers.lowerBound, joins(last.sequence)
        {
            answers[answers.count - 1] = Answer(
                sequence: sequence, content: .results(session, before.lowerBound...numbers.upperBound))
        } else {
            append(.results(session, numbers), at: sequence)
        }
    }

    /// Takes the next answer if it may leave.
    mutating func next(committed: SequenceNumber) -> Answer? {
        guard let first = answers.first, first.sequence <= committed else { return nil }
        answers.removeFirst()
        if case .message = first.content { messageCount -= 1 }
        return first
    }

    /// Cheap: the ends of the line.
    func checkEvent(committed: SequenceNumber) {
        precondition(messageCount >= 0 && messageCount <= answers.count, "messages are counted")
        guard let first = answers.first, let last = answers.last else { return }
        precondition(first.sequence > committed, "an answer waits for what has not committed")
        precondition(first.sequence <= last.sequence, "answers are in order")
    }

    /// A walk over all that wait.
    func checkInvariants(committed: SequenceNumber) {
        checkEvent(committed: committed)
        for (answer, next) in zip(answers, answers.dropFirst()) {
            precondition(answer.sequence <= next.sequence, "answers are in order")
        }
        let messages = answers.filter { if case .message = $0.content { true } else { false } }
        precondition(messages.count == messageCount, "messages are counted")
    }
}

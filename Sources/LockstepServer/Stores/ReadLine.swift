package import Foundation

/// What a read prints as JSON: the answer's own fields, and of which state it is.
package struct ReadLine<Answer: Encodable>: Encodable {
    private let answer: Answer
    private let state: StateStamp

    package init(_ answer: Answer, place: Place, time: LogTime, now: Date = Date()) {
        self.answer = answer
        state = StateStamp(
            place: "\(place.epoch):\(place.sequence)", time: time.rawValue,
            ageSeconds: max(0, now.timeIntervalSince1970 - Double(time.rawValue) / 1_000_000))
    }

    package func encode(to encoder: any Encoder) throws {
        // Both write into one object.
        try answer.encode(to: encoder)
        try state.encode(to: encoder)
    }
}

/// Of which state an answer is.
private struct StateStamp: Encodable {
    /// The epoch and the number of the last entry in the state.
    var place: String
    /// The log's time there, in microseconds since 1970.
    var time: Int64
    /// How long ago that was by this host's clock; a cluster in which nobody writes is as old as its last entry.
    var ageSeconds: Double
}

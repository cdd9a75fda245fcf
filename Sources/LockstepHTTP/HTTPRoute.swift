/// One path of a node's HTTP address, and what answers it.
package struct HTTPRoute: Sendable {
    /// The whole path, such as `/metrics`; no patterns.
    package let path: String
    /// Answers a GET or HEAD of the path; runs on the concurrent pool.
    ///
    /// Its connection has a place until it returns, and nothing ends it. So it must not wait for the node's thread,
    /// which may hang.
    package let answer: @Sendable (HTTPQuery) async -> HTTPAnswer

    package init(_ path: String, answer: @escaping @Sendable (HTTPQuery) async -> HTTPAnswer) {
        self.path = path
        self.answer = answer
    }
}

/// What was asked for: the decoded parameters after the `?`, and the headers that routes look at.
package struct HTTPQuery: Sendable {
    /// The value of each parameter; of one that is repeated, the last.
    package let parameters: [String: String]
    /// The ID of the last event that a reconnecting reader of events has seen (`Last-Event-ID`).
    package let lastEventID: String?

    package init(parameters: [String: String] = [:], lastEventID: String? = nil) {
        self.parameters = parameters
        self.lastEventID = lastEventID
    }
}

/// What a route answers.
package struct HTTPAnswer: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// Server-sent events, each the text of its lines without the empty line at the end; ends with the connection.
        case events(AsyncStream<String>)
    }

    package var status: Int
    package var contentType: String
    package var body: Body

    package init(status: Int = 200, contentType: String, body: Body) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }

    /// A text in UTF-8.
    package static func text(_ text: String, status: Int = 200, as type: String = "text/plain; charset=utf-8") -> Self {
        HTTPAnswer(status: status, contentType: type, body: .bytes(Array(text.utf8)))
    }
}

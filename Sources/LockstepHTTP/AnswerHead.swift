/// The head of an answer as it is sent.
struct AnswerHead: Hashable, Sendable {
    var status: Int
    var contentType: String
    /// Bytes of the body; nil if its end is the connection's.
    var length: Int?
    var isPersistent: Bool

    /// The same for every answer: nothing is kept, nothing of other sites runs, and no other site may show or read it.
    private static let always = [
        "Cache-Control: no-store",
        "Content-Security-Policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "Cross-Origin-Resource-Policy: same-origin",
        "Referrer-Policy: no-referrer",
        "X-Content-Type-Options: nosniff",
    ].map { "\($0)\r\n" }.joined()

    var bytes: [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.phrase(status))\r\nContent-Type: \(contentType)\r\n"
        if let length { text += "Content-Length: \(length)\r\n" }
        if status == 405 { text += "Allow: GET, HEAD\r\n" }
        if status == 503 { text += "Retry-After: 1\r\n" }
        text += Self.always
        text += "Connection: \(isPersistent ? "keep-alive" : "close")\r\n\r\n"
        return Array(text.utf8)
    }

    private static func phrase(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 400: "Bad Request"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 413: "Content Too Large"
        case 421: "Misdirected Request"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status \(status)"
        }
    }
}

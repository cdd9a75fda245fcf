/// The head of a request, taken apart: what this address answers, and nothing of what it does not look at.
package struct RequestHead: Hashable, Sendable {
    /// The most bytes of a head, with its empty line.
    package static let byteBound = 16 << 10
    /// The most fields.
    package static let fieldBound = 100

    package var isHead: Bool
    /// The path as it was sent, without what is after the `?`.
    package var path: String
    package var parameters: [String: String]
    package var lastEventID: String?
    /// The host that was asked; nil in HTTP/1.0 without the field.
    package var host: String?
    /// Whether the connection goes on after the answer.
    package var isPersistent: Bool

    /// Why a request is not answered by a route; the connection ends with the answer.
    package struct Refusal: Error, Hashable {
        package var status: Int
        package var reason: String

        static let tooLong = Refusal(
            status: 431, reason: "the head of the request is larger than \(RequestHead.byteBound) bytes")
        static let manyFields = Refusal(
            status: 431, reason: "the head of the request has more than \(RequestHead.fieldBound) fields")
        static let body = Refusal(status: 413, reason: "this address takes no bodies")
        static let method = Refusal(status: 405, reason: "this address answers GET and HEAD")
        static let version = Refusal(status: 505, reason: "this address speaks HTTP/1.0 and HTTP/1.1")

        static func malformed(_ what: String) -> Refusal { Refusal(status: 400, reason: what) }
    }

    /// Where the head ends that `bytes` begin with, after its empty line; nil if it is not complete.
    ///
    /// `from` is how far it was looked at before.
    package static func end(of bytes: [UInt8], from: Int) -> Int? {
        var place = max(0, from - 3)
        while let line = bytes[place...].firstIndex(of: 0x0A) {
            if line + 1 < bytes.count, bytes[line + 1] == 0x0A { return line + 2 }
            if line + 2 < bytes.count, bytes[line + 1] == 0x0D, bytes[line + 2] == 0x0A { return line + 3 }
            place = line + 1
        }
        return nil
    }

    /// Takes a complete head apart.
    package init(_ bytes: ArraySlice<UInt8>) throws(Refusal) {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { $0.last == 0x0D ? $0.dropLast() : $0 }[...]
        while lines.last?.isEmpty ?? false { lines.removeLast() }
        guard let first = lines.popFirst() else { throw .malformed("the request line is empty") }
        guard lines.count <= Self.fieldBound else { throw .manyFields }
        var fields = Fields()
        for line in lines { try fields.add(line) }

        let words = first.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, first.allSatisfy({ (0x20...0x7E).contains($0) }), !words[0].isEmpty else {
            throw .malformed("the request line is not METHOD PATH HTTP/1.1")
        }
        let version = String(decoding: words[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw version.hasPrefix("HTTP/")
                ? .version : .malformed("the request line is not METHOD PATH HTTP/1.1")
        }
        guard version == "HTTP/1.0" || fields.host != nil else { throw .malformed("the field Host is missing") }
        guard !fields.hasBody else { throw .body }
        switch String(decoding: words[0], as: UTF8.self) {
        case "GET": isHead = false
        case "HEAD": isHead = true
        default: throw .method
        }
        guard words[1].first == 0x2F else {
            throw .malformed("the request does not begin with a path, such as /metrics")
        }
        let parts = String(decoding: words[1], as: UTF8.self).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = String(parts[0])
        parameters = try Self.parameters(in: parts.count == 2 ? parts[1] : "")
        lastEventID = fields.lastEventID
        host = fields.host
        isPersistent = version == "HTTP/1.1" ? !fields.closes : fields.keepsAlive
    }

    // MARK: - Fields

    private struct Fields {
        var host: String?
        var lastEventID: String?
        var hasBody = false
        var closes = false
        var keepsAlive = false

        mutating func add(_ line: ArraySlice<UInt8>) throws(Refusal) {
            guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
                line[..<colon].allSatisfy(Self.isNameByte),
                line.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }),
                let text = String(validating: line[line.index(after: colon)...], as: UTF8.self)
            else { throw .malformed("a field of the head is not NAME: VALUE") }
            let value = text.drop { $0 == " " || $0 == "\t" }.trimmingSuffix(while: { $0 == " " || $0 == "\t" })
            switch String(decoding: line[..<colon], as: UTF8.self).lowercased() {
            case "host":
                guard host == nil else { throw .malformed("the field Host comes twice") }
                host = String(value)
            case "content-length":
                guard !value.isEmpty, value.allSatisfy({ ("0"..."9").contains($0) }) else {
                    throw .malformed("the field Content-Length is no number")
                }
                if !value.allSatisfy({ $0 == "0" }) { hasBody = true }
            case "transfer-encoding": hasBody = true
            case "connection":
                for word in value.lowercased().split(separator: ",") {
                    switch word.trimmingSuffix(while: { $0 == " " }).drop(while: { $0 == " " }) {
                    case "close": closes = true
                    case "keep-alive": keepsAlive = true
                    default: break
                    }
                }
            case "last-event-id": lastEventID = String(value)
            default: break
            }
        }

        /// A byte of a token (RFC 9110, section 5.6.2).
        private static func isNameByte(_ byte: UInt8) -> Bool {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
                UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
                true
            default: false
            }
        }
    }

    // MARK: - Parameters

    private static func parameters(in query: Substring) throws(Refusal) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = try decoded(parts[0])
            parameters[name] = parts.count == 2 ? try decoded(parts[1]) : ""
        }
        return parameters
    }

    private static func decoded(_ text: Substring) throws(Refusal) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard rest.count >= 2, let high = Character(Unicode.Scalar(rest.removeFirst())).hexDigitValue,
                    let low = Character(Unicode.Scalar(rest.removeFirst())).hexDigitValue
                else { throw .malformed("a parameter has a % without two hexadecimal digits") }
                bytes.append(UInt8(high << 4 | low))
            default: bytes.append(byte)
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .malformed("a parameter is not UTF-8")
        }
        return text
    }
}

extension StringProtocol {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> SubSequence {
        var end = endIndex
        while end > startIndex, isTrimmed(self[index(before: end)]) { end = index(before: end) }
        return self[startIndex..<end]
    }
}

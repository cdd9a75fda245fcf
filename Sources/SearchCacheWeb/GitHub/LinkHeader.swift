#if Web
    /// A link of the header field `Link` (RFC 8288, section 3).
    package struct LinkHeader: Hashable, Sendable {
        /// What stands between the angle brackets, as it is.
        package var target: String
        /// Its relation types in lower case.
        package var relations: [String]
        /// Whether it is about something else than what was asked for.
        package var hasAnchor: Bool

        /// Whether one of the field's values names a page after this one.
        package static func hasNext(_ values: [String]) -> Bool {
            values.contains { parse($0).contains { !$0.hasAnchor && $0.relations.contains("next") } }
        }

        /// The links of a value; of one that is wrong, those before the mistake (RFC 8288, appendix B.2).
        ///
        /// The time is linear in the value's length, which the HTTP client bounds.
        package static func parse(_ value: String) -> [LinkHeader] {
            var scanner = Scanner(bytes: value.utf8[...])
            var links: [LinkHeader] = []
            while true {
                // An empty element of a list is none (RFC 9110, section 5.6.1).
                scanner.skipBlanks()
                while scanner.take(",") { scanner.skipBlanks() }
                guard !scanner.isAtEnd, let link = scanner.link() else { return links }
                links.append(link)
            }
        }
    }

    private struct Scanner {
        var bytes: Substring.UTF8View

        var isAtEnd: Bool { bytes.isEmpty }

        mutating func skipBlanks() { bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 } }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard let first = bytes.first, UInt32(first) == character.value else { return false }
            bytes.removeFirst()
            return true
        }

        /// `"<" URI-Reference ">" *( OWS ";" OWS [ link-param ] )`, and that the list goes on or ends after it.
        mutating func link() -> LinkHeader? {
            guard take("<"), let end = bytes.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            let target = String(Substring(bytes[..<end]))
            bytes = bytes[bytes.index(after: end)...]
            var relations: [String]?
            var hasAnchor = false
            while true {
                skipBlanks()
                if isAtEnd || bytes.first == UInt8(ascii: ",") { break }
                guard take(";") else { return nil }
                skipBlanks()
                // An empty parameter is allowed.
                if isAtEnd || bytes.first == UInt8(ascii: ",") || bytes.first == UInt8(ascii: ";") { continue }
                guard let name = token()?.lowercased(), let value = parameterValue() else { return nil }
                switch name {
                // Only the first counts (section 3.3).
                case "rel" where relations == nil: relations = value.lowercased().split(separator: " ").map(String.init)
                case "anchor": hasAnchor = true
                default: break
                }
            }
            return LinkHeader(target: target, relations: relations ?? [], hasAnchor: hasAnchor)
        }

        /// What stands after a parameter's name; empty if nothing does, nil if it is wrong.
        private mutating func parameterValue() -> String? {
            skipBlanks()
            guard take("=") else { return "" }
            skipBlanks()
            return bytes.first == UInt8(ascii: "\"") ? quoted() : token()
        }

        /// One or more of the characters that a token may have (RFC 9110, section 5.6.2).
        private mutating func token() -> String? {
            let end = bytes.firstIndex { !Self.isTokenCharacter($0) } ?? bytes.endIndex
            guard end > bytes.startIndex else { return nil }
            defer { bytes = bytes[end...] }
            return String(Substring(bytes[..<end]))
        }

        private mutating func quoted() -> String? {
            guard take("\"") else { return nil }
            var text: [UInt8] = []
            while let byte = bytes.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = bytes.popFirst() else { return nil }
                    text.append(escaped)
                default: text.append(byte)
                }
            }
            return nil
        }

        private static func isTokenCharacter(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
    }
#endif

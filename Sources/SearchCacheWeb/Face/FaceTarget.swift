#if Web
    internal import SearchCache

    /// A request's path and query, as they came.
    struct FaceTarget {
        var path: Substring
        var query: Substring?

        /// Takes `/path?query` apart, or the absolute form `http://host/path?query`, which servers have to take too.
        init(_ target: String) {
            var rest = target[...]
            if !rest.utf8.starts(with: "/".utf8), let scheme = rest.firstRange(of: "://") {
                let authority = rest[scheme.upperBound...]
                rest = authority.firstIndex { $0 == "/" || $0 == "?" }.map { authority[$0...] } ?? ""
            }
            if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
            if let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) {
                path = rest[..<mark]
                query = rest[rest.utf8.index(after: mark)...]
            } else {
                path = rest
            }
            if path.isEmpty { path = "/" }
        }
    }

    /// What `/search` is asked for.
    struct SearchParameters: Hashable {
        var text: String
        var page = 1

        /// Reads `q=…&page=…` as HTML forms encode it.
        ///
        /// A parameter that is not known is refused, so that a misspelt `page` is not the first page without a word.
        init(_ query: Substring?) throws(FaceProblem) {
            var text: String?
            var page: String?
            let nothing = Substring().utf8
            for pair in (query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
                let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count > 1 ? parts[1] : nothing)
                else { throw .badEncoding }
                switch name {
                case "q":
                    guard text == nil else { throw .repeated("q") }
                    text = value
                case "page":
                    guard page == nil else { throw .repeated("page") }
                    page = value
                default: throw .unknown(name)
                }
            }
            guard let text else { throw .missingQuery }
            self.text = text
            if let page { self.page = try Self.number(page) }
        }

        private static func number(_ text: String) throws(FaceProblem) -> Int {
            let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
            guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
                throw .pageNotANumber
            }
            guard let number = Int(text), (1...SearchCache.lastPageNumber).contains(number) else {
                throw .pageOutOfRange
            }
            return number
        }

        /// The text after percent-encoding, where `+` is a space; nil if it is wrong, or no UTF-8.
        private static func decoded(_ bytes: Substring.UTF8View) -> String? {
            guard bytes.contains(where: { $0 == UInt8(ascii: "%") || $0 == UInt8(ascii: "+") }) else {
                return String(Substring(bytes))
            }
            var plain: [UInt8] = []
            plain.reserveCapacity(bytes.count)
            var iterator = bytes.makeIterator()
            while let byte = iterator.next() {
                switch byte {
                case UInt8(ascii: "+"): plain.append(UInt8(ascii: " "))
                case UInt8(ascii: "%"):
                    guard let high = iterator.next().flatMap(hexadecimal),
                        let low = iterator.next().flatMap(hexadecimal)
                    else { return nil }
                    plain.append(high << 4 | low)
                default: plain.append(byte)
                }
            }
            return String(validating: plain, as: UTF8.self)
        }

        private static func hexadecimal(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: nil
            }
        }
    }
#endif

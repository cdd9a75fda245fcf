import Foundation

/// A value that a user gave as JSON on the command line.
package enum JSONArgument {
    /// Reads a value of a store's type; the error says in one line what is wrong and where.
    ///
    /// `what` is what it is to be, for the error: "the action of stock".
    package static func read<Value: Decodable>(_ text: String, as what: String) throws -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch let error as DecodingError {
            throw CommandFailure("\(what) cannot be read: \(explanation(error, of: text))", status: .usage)
        } catch {
            throw CommandFailure("\(what) cannot be read: \(oneLine("\(error)"))", status: .usage)
        }
    }

    private static func explanation(_ error: DecodingError, of text: String) -> String {
        switch error {
        case .keyNotFound(let key, let context):
            return "\"\(key.stringValue)\" is missing\(place(context, joined: " in "))"
        case .valueNotFound(let type, let context):
            return "\(name(of: type)) is missing\(place(context, joined: " at "))"
        case .typeMismatch(let type, let context):
            // What the compiler makes for an enum says so of a case that there is not.
            if context.debugDescription.hasPrefix("Invalid number of keys") {
                let place = place(context, joined: " at ")
                return "no case of \(type) is named\(place): write {\"CASE\":{…}}, with one of its cases"
            }
            return "\(name(of: type)) is needed\(place(context, joined: " at "))"
        case .dataCorrupted(let context):
            if !context.codingPath.isEmpty {
                return oneLine(context.debugDescription) + place(context, joined: " at ")
            }
            // Foundation says the same of a text that is no JSON and of a number that does not fit, and not where.
            return syntaxError(in: text).map { "it is no JSON\($0)" } ?? "a number in it does not fit its type"
        @unknown default: return oneLine("\(error)")
        }
    }

    /// What Foundation says of a text that is no JSON; nil if it is.
    private static func syntaxError(in text: String) -> String? {
        do {
            _ = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
            return nil
        } catch {
            guard let detail = (error as NSError).userInfo["NSDebugDescription"] as? String else { return "" }
            return ": \(oneLine(detail))"
        }
    }

    private static func place(_ context: DecodingError.Context, joined: String) -> String {
        guard !context.codingPath.isEmpty else { return "" }
        let path = context.codingPath.reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += (path.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return "\(joined)\(path)"
    }

    /// A type in the words of JSON.
    private static func name(of type: Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "a whole number (\(type))"
        case is any BinaryFloatingPoint.Type: "a number"
        case is [Any].Type: "a list"
        case is [String: Any].Type: "an object"
        default: "another value (\(type))"
        }
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

extension ServeConfiguration {
    /// One key as `--print-configuration` shows it in JSON.
    private struct Line: Encodable {
        let key: String
        /// The values of a key that takes several, else the one value; nil, and not written, if it is not set.
        let value: JSONValue?
        let from: String
        var variable: String?
        var file: String?
        var line: Int?
        let changesWhileRunning: Bool

        init(_ setting: Setting) {
            key = setting.key.name
            let texts = setting.values.map { JSONValue.text($0) }
            value = setting.key.kind == .values ? .list(texts) : texts.first
            changesWhileRunning = setting.key.changesWhileRunning
            switch setting.source {
            case .flag: from = "flag"
            case .environment(let name):
                from = "environment"
                variable = name
            case .file(let path, let number):
                from = "file"
                file = path
                line = number
            case .usual: from = "default"
            }
        }
    }

    /// The keys as one line of JSON, in the order of the help.
    ///
    /// - Throws: `EncodingError` never in practice: all values are texts.
    package func json() throws -> String { try Output.jsonText(settings.map(Line.init)) }

    /// The keys as lines of text: name, value, and where it is from.
    package var lines: [String] {
        let rows = settings.map { setting in
            let value = setting.values.isEmpty ? "not set" : setting.values.joined(separator: ", ")
            return [setting.key.name, value, setting.source.text]
        }
        let widths = (0..<2).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let columns = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return (columns + row.suffix(1)).joined(separator: "  ")
        }
    }
}

extension ServeConfiguration.Source {
    /// Where a value is from, in words.
    package var text: String {
        switch self {
        case .flag: "flag"
        case .environment(let name): "environment \(name)"
        case .file(let path, let line): "\(path), line \(line)"
        case .usual: "default"
        }
    }
}

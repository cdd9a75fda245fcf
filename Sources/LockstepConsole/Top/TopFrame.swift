/// Lines as a terminal shows them: pieces of text with their styles.
package struct TopFrame: Hashable, Sendable {
    /// What a piece is, which a terminal shows by colour and weight.
    package enum Style: Hashable, Sendable {
        case plain, soft, strong, accent, alarm, chosen
    }

    /// A piece of a line.
    package struct Piece: Hashable, Sendable {
        package var text: String
        package var style: Style

        init(_ text: String, _ style: Style = .plain) {
            self.text = text
            self.style = style
        }
    }

    package private(set) var lines: [[Piece]] = []

    init() {}

    mutating func add(_ pieces: Piece...) { lines.append(pieces) }
    mutating func add(_ pieces: [Piece]) { lines.append(pieces) }

    /// Cuts what does not fit, and says in the last line how much of it there is.
    mutating func cut(columns: Int, rows: Int) {
        lines = lines.map { Self.cut($0, to: columns) }
        guard lines.count > rows, rows > 0 else { return }
        let left = lines.count - rows + 1
        lines.removeLast(left)
        lines.append(Self.cut([Piece("and \(left) lines more: make the terminal higher", .soft)], to: columns))
    }

    private static func cut(_ line: [Piece], to columns: Int) -> [Piece] {
        var room = columns
        return line.compactMap { piece in
            // A name or a reason from elsewhere must not move the cursor.
            let text = String(
                piece.text.unicodeScalars.map { $0.properties.generalCategory == .control ? "?" : Character($0) }
                    .prefix(room))
            room -= text.count
            return text.isEmpty ? nil : Piece(text, piece.style)
        }
    }

    /// The text of each line without styles and without blanks at its end.
    package var text: [String] {
        lines.map { line in
            var text = line.map(\.text).joined()
            while text.last == " " { text.removeLast() }
            return text
        }
    }

    /// The text of each line with the terminal's codes; without `colours`, weight and inversion only.
    package func coded(colours: Bool) -> [String] {
        lines.map { line in
            line.map { piece in
                let code = Self.code(piece.style, colours)
                return code.isEmpty ? piece.text : "\u{1B}[\(code)m\(piece.text)\u{1B}[0m"
            }.joined()
        }
    }

    private static func code(_ style: Style, _ colours: Bool) -> String {
        switch style {
        case .plain: ""
        case .soft: colours ? "90" : ""
        case .strong: "1"
        case .accent: colours ? "36" : ""
        case .alarm: colours ? "1;31" : "1"
        case .chosen: colours ? "1;36;7" : "1;7"
        }
    }
}

/// Values over time as one line of blocks.
package struct Sparkline: Sendable {
    /// From none to the greatest.
    private let marks: [Character]

    /// `isPlain`: of characters that every terminal has.
    package init(isPlain: Bool = false) { marks = Array(isPlain ? "_.,:-=+*#" : "▁▂▃▄▅▆▇█") }

    /// The greatest value of each part of a span that ends at `now`; a part without a value stays empty.
    package func text(_ points: [(at: Double, value: Double)], now: Double, span: Double, width: Int) -> String {
        guard width > 0 else { return "" }
        var greatest = [Double?](repeating: nil, count: width)
        for point in points where point.at > now - span && point.at <= now {
            let place = min(width - 1, Int((point.at - (now - span)) / span * Double(width)))
            greatest[place] = max(greatest[place] ?? 0, point.value)
        }
        let top = max(1, greatest.compactMap(\.self).max() ?? 1)
        return String(
            greatest.map { value in
                guard let value else { return " " }
                // A value above 0 is seen, however small it is beside the others.
                let step = value <= 0 ? 0 : max(1, Int((value / top * Double(marks.count - 1)).rounded()))
                return marks[step]
            })
    }
}

/// Rows in columns, as people read them.
enum TextTable {
    /// A line for each row; two spaces are between columns.
    static func lines(_ texts: [[String]]) -> [String] {
        let rows = texts.map { $0.map(Output.printable) }
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0
        }
        return rows.map { row in
            let cells = row.enumerated().map { column, cell in
                cell + String(repeating: " ", count: widths[column] - cell.count)
            }
            var line = cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

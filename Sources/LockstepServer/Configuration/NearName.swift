/// Finds the name that was probably meant.
enum NearName {
    /// The nearest of the names, if it is near enough to be meant; of equally near ones the first.
    static func of(_ name: String, among names: [String]) -> String? {
        // No key is that long, and the work grows with the length.
        guard name.count <= 64 else { return nil }
        let most = max(1, name.count / 3)
        let near = names.map { (name: $0, steps: steps(from: name, to: $0)) }.filter { $0.steps <= most }
        return near.min { $0.steps < $1.steps }?.name
    }

    /// How many letters must be added, left out, replaced, or exchanged with their neighbour.
    static func steps(from one: String, to other: String) -> Int {
        let (one, other) = (Array(one.lowercased()), Array(other.lowercased()))
        // Row r has the steps from the first r letters of `one` to each beginning of `other`.
        var rows = [Array(0...other.count)]
        for row in one.indices {
            var next = [row + 1]
            for column in other.indices {
                var steps = min(rows[row][column + 1], next[column]) + 1
                steps = min(steps, rows[row][column] + (one[row] == other[column] ? 0 : 1))
                if row > 0, column > 0, one[row] == other[column - 1], one[row - 1] == other[column] {
                    steps = min(steps, rows[row - 1][column - 1] + 1)
                }
                next.append(steps)
            }
            rows.append(next)
        }
        return rows[one.count][other.count]
    }
}

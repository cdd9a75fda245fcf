/// Every case, in the order of an action's way: client, primary, journal, replica.
enum Catalogue {
    static let cases: [Case] =
        CodingCases.all + FrameCases.all + ClientCases.all + PerformCases.all + SequenceCases.all + SessionCases.all
        + JournalCases.all + ApplyCases.all + DigestCases.all + SnapshotCases.all

    /// The cases that have one of these names, or whose names contain one that no case has; all without any.
    static func cases(named parts: [String]) throws -> [Case] {
        guard !parts.isEmpty else { return cases }
        let names = Set(cases.map(\.name))
        let chosen = cases.filter { candidate in
            parts.contains { names.contains($0) ? candidate.name == $0 : candidate.name.contains($0) }
        }
        guard !chosen.isEmpty else {
            throw Failure(
                "no case is named like \(parts.joined(separator: ", ")); there are "
                    + cases.map(\.name).joined(separator: ", "))
        }
        return chosen
    }
}

/// Small checks of lists that are only appended to, and of sets that are only added to.
package enum CollectionChecks {
    /// Checks that each read of an append-only list is a beginning of the longest read.
    ///
    /// Findings name reads by their index. The cost is linear in the elements.
    package static func prefixes<Element: Equatable>(_ reads: [[Element]]) -> [Finding] {
        guard let longest = reads.indices.max(by: { reads[$0].count < reads[$1].count }) else { return [] }
        return reads.indices.compactMap { index in
            guard let place = zip(reads[index], reads[longest]).enumerated().first(where: { $1.0 != $1.1 }) else {
                return nil
            }
            let detail = "element \(place.offset) is \(place.element.0), elsewhere \(place.element.1)"
            return Finding(.notAPrefix, [index, longest], detail)
        }
    }

    /// Checks a last read of a set that is only added to: nothing acknowledged is lost, nothing is there twice or
    /// without having been attempted.
    ///
    /// Findings name lost elements by their index in `acknowledged`, others by that in `found`. The cost is linear.
    ///
    /// - Parameters:
    ///   - acknowledged: the elements whose addition returned.
    ///   - attempted: the elements whose addition was invoked, those of unknown outcome included.
    ///   - found: the elements that the last read returned.
    /// - Returns: one finding for each element that is lost, there again, or made up.
    package static func elements<Element: Hashable>(
        acknowledged: [Element], attempted: Set<Element>, found: [Element]
    ) -> [Finding] {
        let present = Set(found)
        var findings = acknowledged.indices.filter { !present.contains(acknowledged[$0]) }
            .map { Finding(.lost, [$0], "\(acknowledged[$0])") }
        var first: [Element: Int] = [:]
        for (index, element) in found.enumerated() {
            if let earlier = first[element] {
                findings.append(Finding(.duplicated, [index, earlier], "\(element)"))
                continue
            }
            first[element] = index
            if !attempted.contains(element) { findings.append(Finding(.unexpected, [index], "\(element)")) }
        }
        return findings
    }
}

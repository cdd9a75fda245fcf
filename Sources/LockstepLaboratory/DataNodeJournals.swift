package import LockstepChecking

/// The journals of one store on data nodes, each of which may have been the primary: none of them is the one to compare
/// with, so they are compared with the one that knows the most to be committed.
///
/// The nodes were equal before they were stopped. So each journal holds all that was acknowledged, and only what the last
/// epochs began while the nodes were stopped may be in one of them alone.
package struct DataNodeJournals: Sendable {
    /// One of each node; at least one.
    package let logs: [JournalLog]

    /// Takes the journals of all nodes.
    package init(_ logs: [JournalLog]) { self.logs = logs }

    /// The journal with the highest commit number; of several, the one that begins first.
    package var longest: JournalLog? { logs.max { ($0.last, $1.first) < ($1.last, $0.first) } }

    /// Those journals that hold the whole committed log together, or as much of its end as is kept anywhere.
    ///
    /// A node that was too far behind, or lost its disk, began its journal with a snapshot.
    package var covering: [JournalLog] {
        guard let longest else { return [] }
        var found = [longest]
        var first = longest.first
        while first > 1, let earlier = logs.filter({ $0.last >= first - 1 }).min(by: { $0.first < $1.first }),
            earlier.first < first
        {
            found.append(earlier)
            first = earlier.first
        }
        return found
    }

    /// What every journal has at the ends of its batches is what the longest has there: how many ends were compared, and
    /// where a journal has something else.
    package func differences() -> (checked: Int, findings: [String]) {
        guard let longest else { return (0, []) }
        var checked = 0
        var findings: [String] = []
        for log in logs where log.folder != longest.folder {
            let ends = log.hashes.merging(log.tail) { committed, _ in committed }
                .filter { (longest.first...longest.last).contains($0.key) }
            checked += ends.count
            let wrong = ends.filter { longest.hashes[$0.key] != $0.value }.keys.min()
            if let wrong {
                findings.append(
                    "\(log.folder) and \(longest.folder), \(log.store): other histories from \(wrong) at the latest")
            }
        }
        return (checked, findings)
    }

    /// Every node has on its disk whatever was acknowledged, through the highest of these places: how many nodes were
    /// looked at, and who lacks something.
    package func lacking(_ acknowledged: [LogPlace]) -> (checked: Int, findings: [String]) {
        guard let highest = acknowledged.max(by: { $0.sequence < $1.sequence }) else { return (0, []) }
        var findings = logs.filter { $0.end < highest.sequence }.map {
            "\($0.folder), \($0.store): it ends at \($0.end), and \(highest) was acknowledged"
        }
        if let longest, longest.last < highest.sequence {
            findings.append(
                "\(longest.folder), \(longest.store): nobody knows more to be committed than \(longest.last), and "
                    + "\(highest) was acknowledged")
        }
        return (logs.count, findings)
    }
}

import Foundation
import LockstepHTTP
import LockstepNode
import Testing

/// docs/METRICS.md lists every metric, and nothing that is none.
@Suite struct MetricsPageTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The rows of the page's tables: name, kind, labels, what it says.
    private static func rows(of page: String) -> [[String]] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return cells.count == 4 && cells[0].hasPrefix("`") ? cells : nil
        }
    }

    private static func row(_ metric: NodeMetric) -> [String] {
        let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
        return ["`\(metric.name)`", metric.kind.rawValue, labels.isEmpty ? "-" : labels, metric.help]
    }

    private static func differences(_ page: String) -> [String] {
        let expected = NodeMetric.all.map(row)
        let found = rows(of: page).filter { $0[0].hasPrefix("`lockstep_") }
        return expected.filter { !found.contains($0) }.map { "missing: | \($0.joined(separator: " | ")) |" }
            + found.filter { !expected.contains($0) }.map { "not in the code: \($0[0])" }
    }

    @Test func thePageHasEveryMetricAsTheCodeDescribesIt() throws {
        let page = try Self.text("docs/METRICS.md")
        let differences = Self.differences(page)
        #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
        for name in NodeHTTP.processMetrics + [PrometheusRegistry.refusedName] { #expect(page.contains("`\(name)`")) }
    }

    /// The check finds a metric that the page lacks, one that the code lacks, and another text.
    @Test func theCheckFindsDifferences() throws {
        let page = try Self.text("docs/METRICS.md")
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let first = try #require(lines.firstIndex { $0.hasPrefix("| `lockstep_") })
        var less = lines
        less.remove(at: first)
        #expect(Self.differences(less.joined(separator: "\n")).count == 1)
        #expect(Self.differences(page + "\n| `lockstep_new_total` | counter | - | New. |\n").count == 1)
        var other = lines
        other[first] =
            other[first].replacing("| counter |", with: "| gauge |").replacing("| histogram |", with: "| gauge |")[...]
        #expect(Self.differences(other.joined(separator: "\n")).count == 2)
    }

    /// Metrics that rules name are there, and an alert leads to a section of the page for operators.
    @Test func rulesNameMetricsAndSectionsThatExist() throws {
        let known = Set(NodeMetric.all.map(\.name) + NodeHTTP.processMetrics)
        let page = try Self.text("deploy/README.md")
        let headings = Set(
            page.split(separator: "\n").filter { $0.hasPrefix("#") }.map { heading in
                heading.drop { $0 == "#" || $0 == " " }.lowercased()
                    .filter { $0.isLetter || $0.isNumber || " -_".contains($0) }.replacing(" ", with: "-")
            })
        for file in ["alerts.yml", "recording.yml"] {
            let rules = try Self.text("deploy/prometheus/\(file)")
            let names = rules.matches(of: /\b((?:lockstep|process)_[a-z_]+)/).map { name in
                ["_bucket", "_count", "_sum"].reduce(String(name.1)) {
                    $0.hasSuffix($1) ? String($0.dropLast($1.count)) : $0
                }
            }
            #expect(!names.isEmpty)
            #expect(names.filter { !known.contains($0) } == [])
            let sections = rules.matches(of: /section: deploy\/README\.md#([a-z0-9_-]+)/).map { String($0.1) }
            #expect(sections.count == rules.matches(of: /- alert:/).count)
            #expect(sections.filter { !headings.contains($0) } == [])
        }
    }
}

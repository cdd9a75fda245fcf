#if Macros
    import Foundation
    import LockstepMacroExpansion
    import SwiftDiagnostics
    import SwiftParser
    import SwiftSyntax
    import SwiftSyntaxBuilder
    import SwiftSyntaxMacroExpansion
    import SwiftSyntaxMacros

    /// What becomes of a piece of source, without the compiler.
    struct Expansion {
        /// The source with what the macros added.
        var source: String
        /// What they say of it: line and column, then the text; notes follow with their own places.
        var findings: [String] = []
        /// The texts of what they offer.
        var offers: [String] = []
        /// The original source with all of it done.
        var fixed: String

        init(_ original: String) {
            let file = Parser.parse(source: original)
            let context = BasicMacroExpansionContext(
                sourceFiles: [file: .init(moduleName: "Module", fullFilePath: "source.swift")])
            let specs = [
                "WireCodable": MacroSpec(type: WireCodableExpansion.self, conformances: ["WireCodable"]),
                "Digestible": MacroSpec(type: DigestibleExpansion.self, conformances: ["Digestible"]),
                "WireCase": MacroSpec(type: WireCaseExpansion.self),
                "WireAdded": MacroSpec(type: WireAddedExpansion.self),
            ]
            source =
                file.expand(
                    macroSpecs: specs,
                    contextGenerator: {
                        BasicMacroExpansionContext(sharingWith: context, lexicalContext: $0.allMacroLexicalContexts())
                    }
                ).description
            func location(_ position: AbsolutePosition, _ node: Syntax) -> SourceLocation {
                context.location(for: position, anchoredAt: node, fileName: "source.swift")
            }
            func place(_ position: AbsolutePosition, _ node: Syntax) -> String {
                let location = location(position, node)
                return "\(location.line):\(location.column)"
            }
            var edits: [(range: Range<Int>, text: String)] = []
            for diagnostic in context.diagnostics {
                findings.append("\(place(diagnostic.position, diagnostic.node)) \(diagnostic.message)")
                for note in diagnostic.notes { findings.append("\(place(note.position, note.node)) \(note.message)") }
                for fixIt in diagnostic.fixIts {
                    offers.append(fixIt.message.message)
                    for case .replace(let old, let new) in fixIt.changes {
                        let start = location(old.position, old).offset
                        edits.append((start..<start + old.totalLength.utf8Length, new.description))
                    }
                }
            }
            var bytes = Array(original.utf8)
            for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
                bytes.replaceSubrange(edit.range, with: Array(edit.text.utf8))
            }
            fixed = String(decoding: bytes, as: UTF8.self)
        }

        /// What the macros added after the source, which no longer has their attributes.
        var addition: String {
            guard let range = source.range(of: "\nnonisolated extension ") else { return "" }
            return String(source[range.lowerBound...].drop { $0.isNewline })
        }
    }
#endif

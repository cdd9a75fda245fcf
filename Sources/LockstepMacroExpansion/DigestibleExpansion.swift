#if Macros
    internal import SwiftDiagnostics
    package import SwiftSyntax
    internal import SwiftSyntaxBuilder
    package import SwiftSyntaxMacros

    /// `@Digestible`: writes the extension with the requirement of the protocol of the same name.
    ///
    /// It reads a type as `@WireCodable` does: the same fields, the same numbers of cases, the same marks. What is wrong
    /// with a type that has both is said once, by the other.
    package struct DigestibleExpansion: ExtensionMacro {
        package static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            var found: [Diagnostic] = []
            WireCodableExpansion.refuseHiddenTypes(declaration, in: context.lexicalContext, &found)
            var types = WireTypes(of: declaration, in: context.lexicalContext)
            let statements: [String]
            if let declaration = declaration.as(StructDeclSyntax.self) {
                statements = WireStruct(declaration, isFrozen: false, &types, &found).digesting
            } else if let declaration = declaration.as(EnumDeclSyntax.self) {
                statements = WireEnum(declaration, &types, &found).digesting
            } else {
                found.append(.error(declaration.introducer, .noDigestedType(declaration.introducer.text)))
                statements = []
            }
            let faults = found.filter { ($0.diagMessage as? WireFault)?.concernsDigests ?? true }
            guard faults.isEmpty else {
                if declaration.attributes.attribute(named: "WireCodable") == nil {
                    for fault in faults { context.diagnose(fault.ofDigest) }
                }
                return []
            }
            let conformance =
                protocols.isEmpty ? "" : ": \(protocols.map(\.trimmedDescription).joined(separator: ", "))"
            let access = WireCodableExpansion.access(of: declaration, in: context)
            return [
                try ExtensionDeclSyntax(
                    """
                    nonisolated extension \(type.trimmed)\(raw: conformance)\(raw: types.whereClause("Digestible")) {
                        \(raw: access)var contentDigest: Digest {
                    \(raw: statements.map { "        \($0)" }.joined(separator: "\n"))
                        }
                    }
                    """)
            ]
        }
    }

    extension Diagnostic {
        /// The same in the words of this macro.
        fileprivate var ofDigest: Diagnostic {
            guard case .rawValues? = diagMessage as? WireFault else { return self }
            return .error(node, .rawDigest)
        }
    }

    extension WireStruct {
        /// The fields of the first version in order, then each later one that has not its initial value.
        fileprivate var digesting: [String] {
            let required = fields.count { !$0.isAdded }
            guard !fields.isEmpty else { return ["return Digest(fields: 0)"] }
            var lines = ["var digest = Digest(fields: \(required))"]
            for (index, field) in fields.enumerated() {
                let later = field.initial.map { ", field: \(index + 1), unless: \($0)" } ?? ""
                lines.append("digest.add(self.\(field.storage)\(later))")
            }
            return lines + ["return digest"]
        }
    }

    extension WireEnum {
        /// The number of the case, then its values in order.
        fileprivate var digesting: [String] {
            var lines = ["switch self {"]
            for item in cases {
                let names = item.labels.indices.map { "value\($0)" }
                let pattern = names.isEmpty ? "" : "(\(names.map { "let \($0)" }.joined(separator: ", ")))"
                lines.append("case .\(item.name)\(pattern):")
                guard !names.isEmpty else {
                    lines.append("    return Digest(case: \(item.number))")
                    continue
                }
                lines.append("    var digest = Digest(case: \(item.number))")
                lines += names.map { "    digest.add(\($0))" }
                lines.append("    return digest")
            }
            return lines + ["}"]
        }
    }
#endif

#if Macros
    internal import SwiftDiagnostics
    package import SwiftSyntax
    internal import SwiftSyntaxBuilder
    package import SwiftSyntaxMacros

    /// `@WireCodable`: writes the extension with the two requirements of the protocol of the same name.
    ///
    /// A type is first read into a `WireStruct` or a `WireEnum`. Whatever is wrong with it is said at once, each fault
    /// at its own place, and then nothing is written.
    package struct WireCodableExpansion: ExtensionMacro {
        package static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            var faults: [Diagnostic] = []
            let frozen = frozenArgument(of: node, &faults)
            refuseHiddenTypes(declaration, in: context.lexicalContext, &faults)
            var types = WireTypes(of: declaration, in: context.lexicalContext)
            let body: String
            if let declaration = declaration.as(StructDeclSyntax.self) {
                let value = WireStruct(declaration, isFrozen: frozen?.value ?? false, &types, &faults)
                body = value.members(access: access(of: declaration, in: context))
            } else if let declaration = declaration.as(EnumDeclSyntax.self) {
                if let frozen { faults.append(.error(frozen.expression, .frozenEnum)) }
                let value = WireEnum(declaration, &types, &faults)
                body = value.members(access: access(of: declaration, in: context))
            } else {
                faults.append(.error(declaration.introducer, .noValueType(declaration.introducer.text)))
                body = ""
            }
            guard faults.isEmpty else {
                for fault in faults { context.diagnose(fault) }
                return []
            }
            // The compiler leaves the protocol out where the type names it already.
            let conformance =
                protocols.isEmpty ? "" : ": \(protocols.map(\.trimmedDescription).joined(separator: ", "))"
            // A value is coded on any thread, also where a module's types belong to the main actor without a word.
            return [
                try ExtensionDeclSyntax(
                    """
                    nonisolated extension \(type.trimmed)\(raw: conformance)\(raw: types.whereClause("WireCodable")) {
                    \(raw: body)
                    }
                    """)
            ]
        }

        /// The value of `frozen:`, if it is given.
        private static func frozenArgument(
            of node: AttributeSyntax, _ faults: inout [Diagnostic]
        ) -> (expression: ExprSyntax, value: Bool)? {
            guard case .argumentList(let arguments) = node.arguments,
                let expression = arguments.first(where: { $0.label?.text == "frozen" })?.expression
            else { return nil }
            guard let literal = expression.as(BooleanLiteralExprSyntax.self) else {
                faults.append(.error(expression, .frozenIsNoLiteral))
                return nil
            }
            return (expression, literal.literal.tokenKind == .keyword(.true))
        }

        /// An extension stands at the top of the file, and sees of other types what is not private to them.
        static func refuseHiddenTypes(
            _ declaration: some DeclGroupSyntax, in context: [Syntax], _ faults: inout [Diagnostic]
        ) {
            // The outermost is private to the file.
            for node in ([Syntax(declaration)] + context).dropLast() {
                guard let type = node.asProtocol((any DeclGroupSyntax).self),
                    let modifier = type.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) }),
                    let name = node.asProtocol((any NamedDeclSyntax).self)?.name
                else { continue }
                guard node.id == declaration.id else {
                    faults.append(.error(declaration.introducer, .hidden(name.text)))
                    continue
                }
                let wider = modifier.with(\.name.tokenKind, .keyword(.fileprivate))
                faults.append(
                    .error(modifier, .hidden(name.text), fixIts: [.replacing(modifier, by: wider, .makeFileprivate)]))
            }
        }

        /// What the members must be declared with to be as visible as their type.
        static func access(
            of declaration: some DeclGroupSyntax, in context: some MacroExpansionContext
        ) -> String {
            if let own = level(declaration.modifiers) { return own }
            // `public extension A { struct B … }` makes a public B without a word beside it.
            let outer = context.lexicalContext.first?.as(ExtensionDeclSyntax.self)
            return outer.flatMap { level($0.modifiers) } ?? ""
        }

        private static func level(_ modifiers: DeclModifierListSyntax) -> String? {
            for modifier in modifiers where modifier.detail == nil {
                switch modifier.name.tokenKind {
                case .keyword(.public): return "public "
                case .keyword(.package): return "package "
                case .keyword(.internal), .keyword(.fileprivate), .keyword(.private): return ""
                default: continue
                }
            }
            return nil
        }
    }
#endif

#if Macros
    internal import SwiftDiagnostics
    package import SwiftSyntax
    package import SwiftSyntaxMacros

    /// `@WireCase`: writes nothing, since `@WireCodable` and `@Digestible` read it.
    ///
    /// Here is only found where it says nothing.
    package struct WireCaseExpansion: PeerMacro {
        package static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            if !declaration.is(EnumCaseDeclSyntax.self) {
                context.diagnose(.error(declaration.nameInSource, .noCase))
            } else if !isRead(context.lexicalContext.first) {
                context.diagnose(.error(declaration.nameInSource, .noMacro("@WireCase")))
            }
            return []
        }
    }

    /// `@WireAdded`: writes nothing, since `@WireCodable` and `@Digestible` read it.
    ///
    /// Here is only found where it says nothing.
    package struct WireAddedExpansion: PeerMacro {
        package static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            let type = context.lexicalContext.first
            if !declaration.is(VariableDeclSyntax.self) || type?.is(EnumDeclSyntax.self) == true {
                context.diagnose(.error(declaration.nameInSource, .noPropertyOfAStruct))
            } else if !isRead(type) {
                context.diagnose(.error(declaration.nameInSource, .noMacro("@WireAdded")))
            }
            return []
        }
    }

    /// Whether the type has a macro that reads the marks.
    private func isRead(_ type: Syntax?) -> Bool {
        let attributes = type?.asProtocol((any DeclGroupSyntax).self)?.attributes
        return ["WireCodable", "Digestible"].contains { attributes?.attribute(named: $0) != nil }
    }
#endif

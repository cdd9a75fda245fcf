#if Macros
    internal import SwiftDiagnostics
    package import SwiftSyntax
    package import SwiftSyntaxMacros

    /// `@WireCase`: writes nothing, since `@WireCodable` reads it.
    ///
    /// Here is only found where it says nothing.
    package struct WireCaseExpansion: PeerMacro {
        package static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            if !declaration.is(EnumCaseDeclSyntax.self) {
                context.diagnose(.error(node, .noCase))
            } else if !isCodable(context.lexicalContext.first) {
                context.diagnose(.error(node, .noMacro("@WireCase")))
            }
            return []
        }
    }

    /// `@WireAdded`: writes nothing, since `@WireCodable` reads it.
    ///
    /// Here is only found where it says nothing.
    package struct WireAddedExpansion: PeerMacro {
        package static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            let type = context.lexicalContext.first
            if !declaration.is(VariableDeclSyntax.self) || type?.is(EnumDeclSyntax.self) == true {
                context.diagnose(.error(node, .noPropertyOfAStruct))
            } else if !isCodable(type) {
                context.diagnose(.error(node, .noMacro("@WireAdded")))
            }
            return []
        }
    }

    private func isCodable(_ type: Syntax?) -> Bool {
        type?.asProtocol((any DeclGroupSyntax).self)?.attributes.attribute(named: "WireCodable") != nil
    }
#endif

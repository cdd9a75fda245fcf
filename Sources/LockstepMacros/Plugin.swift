// What the compiler starts: it looks for macros by the names of this module, so each has a name here, and hands on to
// `LockstepMacroExpansion`. A test that imported this program would make SwiftPM build all tests and what they test
// twice.
//
// Without the trait Macros there is no swift-syntax, and this is a program that does nothing, since it must link.

#if Macros
    internal import LockstepMacroExpansion
    internal import SwiftCompilerPlugin
    internal import SwiftSyntax
    internal import SwiftSyntaxMacros

    @main struct Plugin: CompilerPlugin {
        let providingMacros: [any Macro.Type] = [
            WireCodableMacro.self, WireCaseMacro.self, WireAddedMacro.self, DigestibleMacro.self,
        ]
    }

    struct WireCodableMacro: ExtensionMacro {
        static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            try WireCodableExpansion.expansion(
                of: node, attachedTo: declaration, providingExtensionsOf: type, conformingTo: protocols, in: context)
        }
    }

    struct DigestibleMacro: ExtensionMacro {
        static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            try DigestibleExpansion.expansion(
                of: node, attachedTo: declaration, providingExtensionsOf: type, conformingTo: protocols, in: context)
        }
    }

    struct WireCaseMacro: PeerMacro {
        static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            try WireCaseExpansion.expansion(of: node, providingPeersOf: declaration, in: context)
        }
    }

    struct WireAddedMacro: PeerMacro {
        static func expansion(
            of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
            in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            try WireAddedExpansion.expansion(of: node, providingPeersOf: declaration, in: context)
        }
    }
#else
    @main struct Plugin {
        static func main() {}
    }
#endif

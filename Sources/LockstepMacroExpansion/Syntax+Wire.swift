#if Macros
    internal import SwiftSyntax
    internal import SwiftSyntaxBuilder

    // What the macros ask of the source.

    extension AttributeListSyntax {
        /// The first attribute of this name, with or without a module in front.
        func attribute(named name: String) -> AttributeSyntax? {
            lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.lastName == name }
        }

        /// Whether a property wrapper stands among them.
        ///
        /// The macro sees names only. Those of the language's own attributes begin with a small letter.
        var hasWrapper: Bool {
            contains { element in
                guard let name = element.as(AttributeSyntax.self)?.lastName else { return false }
                return name != "WireAdded" && name.first?.isUppercase == true
            }
        }
    }

    extension AttributeSyntax {
        fileprivate var lastName: String {
            attributeName.as(MemberTypeSyntax.self)?.name.text ?? attributeName.as(IdentifierTypeSyntax.self)?.name.text
                ?? ""
        }

        /// What stands first in its parentheses.
        var firstArgument: Syntax? {
            guard case .argumentList(let arguments) = arguments else { return nil }
            return arguments.first.map { Syntax($0.expression) }
        }

        /// The number that `@WireCase` gives, if it is a literal of one byte.
        var caseNumber: Int? {
            guard let number = firstArgument?.as(IntegerLiteralExprSyntax.self)?.representedLiteralValue else {
                return nil
            }
            return (0...255).contains(number) ? number : nil
        }
    }

    extension DeclSyntaxProtocol {
        /// The first name that it declares: where a fault of it is shown, and not at what stands in front.
        var nameInSource: Syntax {
            if let property = self.as(VariableDeclSyntax.self), let first = property.bindings.first {
                return Syntax(first.pattern)
            }
            if let line = self.as(EnumCaseDeclSyntax.self), let first = line.elements.first {
                return Syntax(first.name)
            }
            return self.asProtocol((any NamedDeclSyntax).self).map { Syntax($0.name) } ?? Syntax(self)
        }
    }

    extension VariableDeclSyntax {
        /// Whether an instance stores any of it.
        var isStoredInstanceProperty: Bool {
            let belongsToTheType = modifiers.contains {
                $0.name.tokenKind == .keyword(.static) || $0.name.tokenKind == .keyword(.class)
            }
            return !belongsToTheType && bindings.contains(where: \.isStored)
        }
    }

    extension PatternBindingSyntax {
        /// Whether it has a value of its own: no accessors, or observers only.
        var isStored: Bool {
            switch accessorBlock?.accessors {
            case nil: true
            case .getter: false
            case .accessors(let accessors):
                accessors.allSatisfy {
                    $0.accessorSpecifier.tokenKind == .keyword(.willSet)
                        || $0.accessorSpecifier.tokenKind == .keyword(.didSet)
                }
            }
        }
    }

    extension EnumCaseDeclSyntax {
        /// The same case with a number, instead of that of `mark` if there is one.
        func numbered(_ number: Int, instead mark: AttributeSyntax?) -> EnumCaseDeclSyntax {
            let attribute = AttributeSyntax("@WireCase(\(raw: number))").with(\.trailingTrivia, .space)
            guard let mark, let index = attributes.firstIndex(where: { $0.as(AttributeSyntax.self)?.id == mark.id })
            else {
                var line = self
                let space = line.leadingTrivia
                line.leadingTrivia = []
                line.attributes.insert(.attribute(attribute.with(\.leadingTrivia, space)), at: attributes.startIndex)
                return line
            }
            let same = attribute.with(\.leadingTrivia, mark.leadingTrivia).with(\.trailingTrivia, mark.trailingTrivia)
            return with(\.attributes, attributes.with(\.[index], .attribute(same)))
        }
    }

    extension IfConfigDeclSyntax {
        /// The first stored property or case inside of it, at any depth.
        var firstStoredMember: DeclSyntax? {
            for clause in clauses {
                guard case .decls(let members) = clause.elements else { continue }
                for member in members {
                    if member.decl.is(EnumCaseDeclSyntax.self) { return member.decl }
                    if member.decl.as(VariableDeclSyntax.self)?.isStoredInstanceProperty == true { return member.decl }
                    if let found = member.decl.as(IfConfigDeclSyntax.self)?.firstStoredMember { return found }
                }
            }
            return nil
        }
    }

    extension InitializerClauseSyntax? {
        /// What an editor shows as a gap to be filled.
        static var placeholder: InitializerClauseSyntax? {
            InitializerClauseSyntax(
                equal: .equalToken(leadingTrivia: .space, trailingTrivia: .space),
                value: EditorPlaceholderExprSyntax(placeholder: .identifier("<#value#>")))
        }
    }
#endif

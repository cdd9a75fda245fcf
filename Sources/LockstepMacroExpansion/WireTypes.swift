#if Macros
    internal import SwiftDiagnostics
    internal import SwiftSyntax

    /// What the types of fields and values say: which generic parameters must conform too, and what cannot be written.
    struct WireTypes {
        private let owner: String
        private let parameters: Set<String>
        /// In the order in which they are met.
        private(set) var constrained: [String] = []

        /// `context`: what the declaration stands in, the innermost first.
        init(of declaration: some DeclGroupSyntax, in context: [Syntax]) {
            owner = declaration.asProtocol((any NamedDeclSyntax).self)?.name.text ?? ""
            var found: Set<String> = []
            for node in [Syntax(declaration)] + context {
                guard let generic = node.asProtocol((any WithGenericParametersSyntax).self) else { continue }
                // The value of `let count: Int` is no type.
                let types = generic.genericParameterClause?.parameters.filter {
                    $0.specifier?.tokenKind != .keyword(.let)
                }
                found.formUnion((types ?? []).map(\.name.text))
            }
            parameters = found
        }

        /// The clause with a leading space, or nothing.
        func whereClause(_ requirement: String) -> String {
            let clauses = constrained.map { "\($0): \(requirement)" }
            return clauses.isEmpty ? "" : " where \(clauses.joined(separator: ", "))"
        }

        /// Notes what the type asks of generic parameters, and what is wrong with it.
        mutating func check(_ type: TypeSyntax, _ faults: inout [Diagnostic]) {
            let walk = Walk(owner: owner, parameters: parameters)
            walk.walk(type)
            for name in walk.constrained where !constrained.contains(name) { constrained.append(name) }
            faults += walk.faults
        }

        private final class Walk: SyntaxVisitor {
            let owner: String
            let parameters: Set<String>
            var constrained: [String] = []
            var faults: [Diagnostic] = []

            init(owner: String, parameters: Set<String>) {
                self.owner = owner
                self.parameters = parameters
                super.init(viewMode: .sourceAccurate)
            }

            override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
                switch node.name.text {
                case "Any", "AnyObject": return refuse(node, .existential)
                case "Void": return refuse(node, .tuple)
                case "Self", owner: return refuse(node, .recursive(owner))
                case let name where parameters.contains(name): constrained.append(name)
                default: break
                }
                return .visitChildren
            }

            /// In `A.B` only the whole is a type that is written; `A` itself is not, though its arguments may be.
            override func visit(_ node: MemberTypeSyntax) -> SyntaxVisitorContinueKind {
                if let root = node.root, root.genericArgumentClause == nil, parameters.contains(root.name.text) {
                    constrained.append(node.trimmedDescription)
                    return .skipChildren
                }
                var base: TypeSyntax? = TypeSyntax(node)
                while let part = base {
                    let member = part.as(MemberTypeSyntax.self)
                    if let clause = member?.genericArgumentClause
                        ?? part.as(IdentifierTypeSyntax.self)?.genericArgumentClause
                    {
                        walk(clause)
                    }
                    base = member?.baseType
                }
                return .skipChildren
            }

            override func visit(_ node: TupleTypeSyntax) -> SyntaxVisitorContinueKind {
                node.elements.count == 1 ? .visitChildren : refuse(node, .tuple)
            }

            override func visit(_ node: FunctionTypeSyntax) -> SyntaxVisitorContinueKind { refuse(node, .function) }
            override func visit(_ node: SomeOrAnyTypeSyntax) -> SyntaxVisitorContinueKind { refuse(node, .existential) }
            override func visit(_ node: CompositionTypeSyntax) -> SyntaxVisitorContinueKind {
                refuse(node, .existential)
            }
            override func visit(_ node: MetatypeTypeSyntax) -> SyntaxVisitorContinueKind { refuse(node, .metatype) }
            override func visit(_ node: PackExpansionTypeSyntax) -> SyntaxVisitorContinueKind { refuse(node, .pack) }

            private func refuse(_ node: some SyntaxProtocol, _ text: WireFault) -> SyntaxVisitorContinueKind {
                faults.append(.error(node, text))
                return .skipChildren
            }
        }
    }

    extension MemberTypeSyntax {
        /// The first name: `A` of `A.B.C`.
        fileprivate var root: IdentifierTypeSyntax? {
            baseType.as(IdentifierTypeSyntax.self) ?? baseType.as(MemberTypeSyntax.self)?.root
        }
    }
#endif

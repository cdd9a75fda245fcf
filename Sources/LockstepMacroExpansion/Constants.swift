#if Macros
    internal import SwiftSyntax

    // Whether an expression has the same value wherever and whenever it is evaluated, as far as its text tells.

    extension ExprSyntax {
        /// True for literals, for constants of a type such as `.zero`, and for values made of such by a type.
        ///
        /// The macro sees no types, so this is a rule about the text: what can be seen to change (a call such as
        /// `Date()`, a name such as `.now`, a variable) is refused. What a constant of a type means is its author's.
        var isConstant: Bool {
            switch self.as(ExprSyntaxEnum.self) {
            case .integerLiteralExpr, .floatLiteralExpr, .booleanLiteralExpr, .nilLiteralExpr: true
            case .stringLiteralExpr(let text): text.segments.allSatisfy { $0.is(StringSegmentSyntax.self) }
            case .prefixOperatorExpr(let signed): signed.expression.isConstant
            case .arrayExpr(let array): array.elements.allSatisfy(\.expression.isConstant)
            case .dictionaryExpr(let dictionary):
                switch dictionary.content {
                case .colon: true
                case .elements(let pairs): pairs.allSatisfy { $0.key.isConstant && $0.value.isConstant }
                }
            case .tupleExpr(let tuple): tuple.elements.allSatisfy(\.expression.isConstant)
            case .sequenceExpr(let sequence):
                sequence.elements.allSatisfy { $0.is(BinaryOperatorExprSyntax.self) || $0.isConstant }
            case .infixOperatorExpr(let infix): infix.leftOperand.isConstant && infix.rightOperand.isConstant
            case .memberAccessExpr(let member): member.isConstantOfType
            case .functionCallExpr(let call): call.isConstant
            default: false
            }
        }

        /// Whether it is `.init()`, which makes what the property's type says.
        var isEmptyInitializer: Bool {
            guard let call = self.as(FunctionCallExprSyntax.self), call.arguments.isEmpty,
                let member = call.calledExpression.as(MemberAccessExprSyntax.self)
            else { return false }
            return member.base == nil && member.declName.baseName.text == "init"
        }

        /// Whether it names a type: `A`, `A.B`, `A<B>`, `[A]`.
        fileprivate var isTypeName: Bool {
            switch self.as(ExprSyntaxEnum.self) {
            case .declReferenceExpr(let name): name.baseName.text.first?.isUppercase == true
            case .memberAccessExpr(let member):
                member.declName.baseName.text.first?.isUppercase == true && member.base?.isTypeName ?? true
            case .genericSpecializationExpr(let generic): generic.expression.isTypeName
            case .arrayExpr(let array): array.elements.count == 1 && array.elements.allSatisfy(\.expression.isTypeName)
            case .dictionaryExpr(let dictionary):
                if case .elements(let pairs) = dictionary.content, pairs.count == 1 {
                    pairs.allSatisfy { $0.key.isTypeName && $0.value.isTypeName }
                } else {
                    false
                }
            case .optionalChainingExpr(let optional): optional.expression.isTypeName
            default: false
            }
        }
    }

    extension ExprSyntax {
        /// Whether it is a type of one of these names, in whatever it is nested, or its initializer.
        fileprivate func isLeading(to names: Set<String>) -> Bool {
            if let name = self.as(DeclReferenceExprSyntax.self) { return names.contains(name.baseName.text) }
            guard let member = self.as(MemberAccessExprSyntax.self) else { return false }
            let name = member.declName.baseName.text
            return name == "init" ? member.base?.isLeading(to: names) ?? false : names.contains(name)
        }
    }

    extension TypeSyntax {
        /// `C` of `A.B.C` and of `C?`.
        var lastName: String {
            if let member = self.as(MemberTypeSyntax.self) { return member.name.text }
            if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType.lastName }
            return self.as(IdentifierTypeSyntax.self)?.name.text ?? ""
        }
    }

    extension MemberAccessExprSyntax {
        /// Names that are made to give another value each time, or on each machine.
        private static let changing: Set = [
            "now", "random", "randomElement", "current", "autoupdatingCurrent", "processInfo", "environment",
        ]

        /// A member of a type, such as `.zero` and `Int.max`.
        fileprivate var isConstantOfType: Bool {
            !Self.changing.contains(declName.baseName.text) && (base == nil || base?.isTypeName == true)
        }
    }

    extension FunctionCallExprSyntax {
        /// A value that a type makes of constants: `Bounds(lowest: 0)`, `.seconds(1)`, `[Int]()`.
        fileprivate var isConstant: Bool {
            guard trailingClosure == nil, arguments.allSatisfy(\.expression.isConstant) else { return false }
            // A time from now on, whatever the type is called.
            guard arguments.allSatisfy({ $0.label?.text != "timeIntervalSinceNow" }) else { return false }
            // Both draw what they are when they are given nothing. What `.init()` makes is not seen here.
            if arguments.isEmpty, calledExpression.isLeading(to: ["Date", "UUID"]) { return false }
            return calledExpression.isTypeName
                || calledExpression.as(MemberAccessExprSyntax.self)?.isConstantOfType == true
        }
    }
#endif

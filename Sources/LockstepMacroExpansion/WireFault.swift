#if Macros
    internal import SwiftDiagnostics
    internal import SwiftSyntax

    /// What can be wrong with a type that is to be written, in words for its author: what it is, and what to do.
    enum WireFault: DiagnosticMessage {
        case noValueType(String)
        case hidden(String)
        case frozenIsNoLiteral, frozenEnum, frozenAndEmpty
        case lazyField, reference, severalNames, conditional
        case tuple, function, existential, metatype, pack
        case recursive(String)
        case rawValues, noCases
        case noDigestedType(String)
        case rawDigest
        case numberOfSeveral, numberIsNoLiteral
        case numberTooLarge(String, Int)
        case doubleNumber(Int, String)
        case afterAdded(String)
        case addedIsNoField, addedToFrozen, addedLet, addedWithoutValue, addedWithoutConstant
        case noCase, noPropertyOfAStruct
        case noMacro(String)

        var message: String {
            switch self {
            case .noValueType(let kind):
                "'@WireCodable' is for a struct or an enum: what is sent is a copy, and \(Self.article(kind)) is not"
            case .hidden(let name):
                "'\(name)' is private to what stands around it, where the macro's code cannot see it;"
                    + " make it 'fileprivate'"
            case .frozenIsNoLiteral: "write 'true' or 'false' here: the macro sees the source, not the values"
            case .frozenEnum:
                "an enum cannot be frozen; cases can be added to every enum, and the values of a case never"
            case .frozenAndEmpty: "a frozen struct without fields takes no bytes, and no array could hold it"
            case .lazyField: "a lazy property cannot be written; make it a computed property"
            case .reference: "a reference to an object cannot be written; store a name or a number of it"
            case .severalNames: "declare each property by itself, so that it is written under its own name"
            case .conditional: "what is written must not depend on how the program is built; move this out of '#if'"
            case .tuple: "a tuple cannot be written; make it a struct with '@WireCodable'"
            case .function: "a function cannot be written; write what it is made from"
            case .existential: "which type is to be read here is not known; use an enum with a case for each type"
            case .metatype: "a type cannot be written; use an enum with a case for each type"
            case .pack: "a parameter pack cannot be written; use an array, or a field for each value"
            case .recursive(let name):
                "'\(name)' contains itself, so that bytes from outside could nest it until the stack overflows;"
                    + " write its coding by hand, with a limit to the depth"
            case .rawValues:
                "an enum with raw values needs no macro: with 'WireCodable' among its protocols its raw value is written"
            case .noCases: "an enum without cases has no value that could be written"
            case .numberOfSeveral: "'@WireCase' gives one case its number; write each case on a line of its own"
            case .numberIsNoLiteral: "the number of a case is a literal from 0 to 255"
            case .numberTooLarge(let name, let number):
                "'\(name)' would be number \(number), but the number of a case is one byte;"
                    + " give it a free one with '@WireCase'"
            case .doubleNumber(let number, let name): "the number \(number) is that of the case '\(name)' already"
            case .afterAdded(let name):
                "older bytes end before '\(name)', so a field after it must be marked '@WireAdded' too"
            case .addedIsNoField: "'@WireAdded' is for a stored property: nothing else is written"
            case .addedToFrozen:
                "a frozen struct has the same fields for ever; without 'frozen: true' its bytes are others"
            case .addedLet: "a field that older bytes lack takes its initial value, so it must be a 'var'"
            case .addedWithoutValue: "a field that older bytes lack needs an initial value to take"
            case .addedWithoutConstant:
                "every node must read the same value out of older bytes; write a literal or a constant of a type"
            case .noCase: "'@WireCase' belongs to a case of an enum"
            case .noPropertyOfAStruct: "'@WireAdded' belongs to a stored property of a struct"
            case .noMacro(let name):
                "'\(name)' says nothing here: the type around it is neither '@WireCodable' nor '@Digestible'"
            case .noDigestedType(let kind):
                "'@Digestible' is for a struct or an enum: what a digest says must stay, and \(Self.article(kind)) changes"
            case .rawDigest:
                "an enum with raw values needs no macro: with 'Digestible' among its protocols its raw value is digested"
            }
        }

        var severity: DiagnosticSeverity { .error }
        var diagnosticID: MessageID { .wire(self) }

        /// Whether it stands in the way of a digest, and not of bytes alone.
        var concernsDigests: Bool {
            switch self {
            case .tuple, .function, .existential, .metatype, .pack, .recursive: false
            case .noValueType, .hidden, .frozenIsNoLiteral, .frozenEnum, .frozenAndEmpty, .lazyField, .reference,
                .severalNames, .conditional, .rawValues, .noCases, .noDigestedType, .rawDigest, .numberOfSeveral,
                .numberIsNoLiteral, .numberTooLarge, .doubleNumber, .afterAdded, .addedIsNoField, .addedToFrozen,
                .addedLet, .addedWithoutValue, .addedWithoutConstant, .noCase, .noPropertyOfAStruct, .noMacro:
                true
            }
        }

        private static func article(_ kind: String) -> String { (kind == "actor" ? "an " : "a ") + kind }
    }

    /// What can be done about it.
    enum WireRemedy: FixItMessage {
        case makeFileprivate, makeVar, giveValue
        case giveNumber(Int, String)

        var message: String {
            switch self {
            case .makeFileprivate: "use 'fileprivate'"
            case .makeVar: "use 'var'"
            case .giveValue: "give it an initial value"
            case .giveNumber(let number, let name): "give '\(name)' the number \(number)"
            }
        }

        var fixItID: MessageID { .wire(self) }
    }

    /// What else belongs to it.
    enum WireNote: NoteMessage {
        case firstWithNumber(Int, String)

        var message: String {
            switch self {
            case .firstWithNumber(let number, let name): "'\(name)' has the number \(number)"
            }
        }

        var noteID: MessageID { .wire(self) }
    }

    extension MessageID {
        /// Named after the case, without its values.
        fileprivate static func wire(_ message: some Any) -> MessageID {
            MessageID(domain: "Lockstep", id: String(String(describing: message).prefix { $0 != "(" }))
        }
    }

    extension Diagnostic {
        static func error(
            _ node: some SyntaxProtocol, _ fault: WireFault, notes: [Note] = [], fixIts: [FixIt] = []
        ) -> Diagnostic {
            Diagnostic(node: node, message: fault, notes: notes, fixIts: fixIts)
        }
    }

    extension Note {
        static func note(_ node: some SyntaxProtocol, _ note: WireNote) -> Note {
            Note(node: Syntax(node), message: note)
        }
    }

    extension FixIt {
        static func replacing(_ old: some SyntaxProtocol, by new: some SyntaxProtocol, _ remedy: WireRemedy) -> FixIt {
            FixIt(message: remedy, changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))])
        }
    }
#endif

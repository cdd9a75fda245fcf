#if Macros
    internal import SwiftDiagnostics
    internal import SwiftSyntax

    /// An enum as it is written: a byte with the number of the case, then the values of the case in order.
    struct WireEnum {
        struct Case {
            var name: String
            var number: Int
            /// The labels of the values; nil where there is none.
            var labels: [String?]
        }

        private(set) var cases: [Case] = []
        /// The first case with each number.
        private var owners: [Int: EnumCaseElementSyntax] = [:]
        /// The cases whose number was another's already, with the attribute that gave it.
        private var doubles: [(element: EnumCaseElementSyntax, number: Int, mark: AttributeSyntax?)] = []

        init(_ declaration: EnumDeclSyntax, _ types: inout WireTypes, _ faults: inout [Diagnostic]) {
            if let raw = Self.rawType(of: declaration) {
                faults.append(.error(raw, .rawValues))
                return
            }
            for modifier in declaration.modifiers where modifier.name.tokenKind == .keyword(.indirect) {
                faults.append(.error(modifier, .recursive(declaration.name.text)))
            }
            for member in declaration.memberBlock.members {
                if let line = member.decl.as(EnumCaseDeclSyntax.self) {
                    for modifier in line.modifiers where modifier.name.tokenKind == .keyword(.indirect) {
                        faults.append(.error(modifier, .recursive(declaration.name.text)))
                    }
                    add(line, &types, &faults)
                } else if let block = member.decl.as(IfConfigDeclSyntax.self), let found = block.firstStoredMember {
                    faults.append(.error(found.nameInSource, .conditional))
                }
            }
            reportDoubles(&faults)
            if cases.isEmpty, faults.isEmpty { faults.append(.error(declaration.name, .noCases)) }
        }

        private mutating func add(
            _ line: EnumCaseDeclSyntax, _ types: inout WireTypes, _ faults: inout [Diagnostic]
        ) {
            let mark = line.attributes.attribute(named: "WireCase")
            var given: Int?
            if let mark {
                if let second = line.elements.dropFirst().first { faults.append(.error(second, .numberOfSeveral)) }
                given = mark.caseNumber
                if given == nil { faults.append(.error(mark.firstArgument ?? line.nameInSource, .numberIsNoLiteral)) }
            }
            for element in line.elements {
                let number = given ?? (cases.last?.number ?? 0) + 1
                given = nil
                if number > 255 { faults.append(.error(element, .numberTooLarge(element.name.text, number))) }
                if owners[number] == nil {
                    owners[number] = element
                } else {
                    doubles.append((element, number, mark))
                }
                let parameters = element.parameterClause?.parameters ?? []
                for parameter in parameters { types.check(parameter.type, &faults) }
                let labels = parameters.map { parameter in
                    parameter.firstName.flatMap { $0.tokenKind == .wildcard ? nil : $0.text }
                }
                cases.append(Case(name: element.name.text, number: number, labels: labels))
            }
        }

        /// Two cases with one number: the later ones are offered numbers that are free.
        private func reportDoubles(_ faults: inout [Diagnostic]) {
            var next = (owners.keys.max() ?? 0) + 1
            for (element, number, mark) in doubles {
                guard let owner = owners[number] else { continue }
                var fixIts: [FixIt] = []
                if next <= 255, let line = element.parent?.parent?.as(EnumCaseDeclSyntax.self), line.elements.count == 1
                {
                    let numbered = line.numbered(next, instead: mark)
                    fixIts = [.replacing(line, by: numbered, .giveNumber(next, element.name.text))]
                    next += 1
                }
                faults.append(
                    .error(
                        element, .doubleNumber(number, owner.name.text),
                        notes: [.note(owner, .firstWithNumber(number, owner.name.text))], fixIts: fixIts))
            }
        }

        /// What says that the cases have raw values; the macro sees names only, so it knows the usual ones.
        private static func rawType(of declaration: EnumDeclSyntax) -> Syntax? {
            let usual: Set = [
                "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64", "String",
                "Character", "Double", "Float",
            ]
            if let first = declaration.inheritanceClause?.inheritedTypes.first,
                usual.contains(first.type.trimmedDescription)
            {
                return Syntax(first.type)
            }
            let elements = declaration.memberBlock.members
                .compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }.flatMap { Array($0.elements) }
            return elements.lazy.compactMap(\.rawValue).first.map { Syntax($0) }
        }

        /// The two requirements.
        func members(access: String) -> String {
            var encoding = ["switch self {"]
            var decoding = ["switch try reader.read(UInt8.self, from: bytes) {"]
            for item in cases {
                let names = item.labels.indices.map { "value\($0)" }
                let pattern = zip(item.labels, names).map { label, name in
                    (label.map { "\($0): " } ?? "") + "let \(name)"
                }
                encoding.append("case .\(item.name)\(Self.list(pattern)):")
                encoding.append("    writer.write(UInt8(\(item.number)))")
                encoding += names.map { "    writer.writeValue(\($0))" }
                let reading = item.labels.map { label in
                    (label.map { "\($0): " } ?? "") + "try reader.readValue(from: bytes)"
                }
                decoding.append("case \(item.number): self = .\(item.name)\(Self.list(reading))")
            }
            encoding.append("}")
            decoding.append("default: throw WireError(.unknownKind, at: reader.offset - 1)")
            decoding.append("}")
            return WireMembers(access: access, encoding: encoding, decoding: decoding).text
        }

        private static func list(_ items: [String]) -> String {
            items.isEmpty ? "" : "(\(items.joined(separator: ", ")))"
        }
    }
#endif

#if Macros
    internal import SwiftDiagnostics
    internal import SwiftSyntax

    /// A struct as it is written: the number of its fields unless it is frozen, then the fields in order.
    struct WireStruct {
        struct Field {
            /// The name of what is stored; for a property with a wrapper this is the wrapper.
            var storage: String
            /// Added after values of this type had been written: older bytes do without it and mean this value.
            var initial: String?

            var isAdded: Bool { initial != nil }
        }

        let isFrozen: Bool
        private(set) var fields: [Field] = []

        init(
            _ declaration: StructDeclSyntax, isFrozen: Bool, _ types: inout WireTypes, _ faults: inout [Diagnostic]
        ) {
            self.isFrozen = isFrozen
            for member in declaration.memberBlock.members {
                if let property = member.decl.as(VariableDeclSyntax.self) {
                    add(property, &types, &faults)
                } else if let block = member.decl.as(IfConfigDeclSyntax.self), let found = block.firstStoredMember {
                    faults.append(.error(found.nameInSource, .conditional))
                }
            }
            if isFrozen, fields.isEmpty { faults.append(.error(declaration.name, .frozenAndEmpty)) }
        }

        private mutating func add(
            _ property: VariableDeclSyntax, _ types: inout WireTypes, _ faults: inout [Diagnostic]
        ) {
            let mark = property.attributes.attribute(named: "WireAdded")
            guard property.isStoredInstanceProperty else {
                if mark != nil { faults.append(.error(property.nameInSource, .addedIsNoField)) }
                return
            }
            for modifier in property.modifiers {
                switch modifier.name.tokenKind {
                case .keyword(.lazy): faults.append(.error(modifier, .lazyField))
                case .keyword(.weak), .keyword(.unowned): faults.append(.error(modifier, .reference))
                default: continue
                }
            }
            let isLet = property.bindingSpecifier.tokenKind == .keyword(.let)
            // In `var a, b: Int` the type stands after the last name only.
            var type: TypeSyntax?
            var found: [Field] = []
            for binding in property.bindings.reversed() {
                type = binding.typeAnnotation?.type ?? (binding.initializer == nil ? type : nil)
                guard binding.isStored else { continue }
                if mark != nil, !isAcceptable(binding, type, of: property, &faults) { continue }
                // A constant with its value is the same in every instance.
                if isLet, binding.initializer != nil { continue }
                guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
                    faults.append(.error(binding.pattern, .severalNames))
                    continue
                }
                if let type { types.check(type, &faults) }
                let storage = property.attributes.hasWrapper ? "_\(name.identifier?.name ?? name.text)" : name.text
                // The compiler gives an optional variable its nil.
                let initial = mark.map { _ in binding.initializer?.value.trimmedDescription ?? "nil" }
                found.append(Field(storage: storage, initial: initial))
            }
            if mark == nil, let last = fields.last, last.isAdded, !found.isEmpty {
                faults.append(.error(property.nameInSource, .afterAdded(last.storage)))
            }
            fields += found.reversed()
        }

        /// Whether a property that is marked as added can be left out of the bytes.
        private func isAcceptable(
            _ binding: PatternBindingSyntax, _ type: TypeSyntax?, of property: VariableDeclSyntax,
            _ faults: inout [Diagnostic]
        ) -> Bool {
            guard !isFrozen else {
                faults.append(.error(binding.pattern, .addedToFrozen))
                return false
            }
            guard property.bindingSpecifier.tokenKind != .keyword(.let) else {
                let variable = property.bindingSpecifier.with(\.tokenKind, .keyword(.var))
                faults.append(
                    .error(
                        property.bindingSpecifier, .addedLet,
                        fixIts: [.replacing(property.bindingSpecifier, by: variable, .makeVar)]))
                return false
            }
            guard let value = binding.initializer?.value else {
                if let type, type.is(OptionalTypeSyntax.self) { return true }
                let filled = binding.with(\.initializer, .placeholder)
                faults.append(
                    .error(binding, .addedWithoutValue, fixIts: [.replacing(binding, by: filled, .giveValue)]))
                return false
            }
            let isDrawn = type.map { ["Date", "UUID"].contains($0.lastName) } == true && value.isEmptyInitializer
            guard value.isConstant, !isDrawn else {
                faults.append(.error(value, .addedWithoutConstant))
                return false
            }
            return true
        }

        /// The two requirements.
        func members(access: String) -> String {
            let required = fields.count { !$0.isAdded }
            var encoding: [String] = []
            var decoding: [String] = []
            if !isFrozen {
                encoding.append("writer.writeVarint(\(fields.count))")
                let result = required < fields.count ? "let fields" : "_"
                decoding.append("\(result) = try reader.readFieldCount(\(required)...\(fields.count), from: bytes)")
            }
            for (index, field) in fields.enumerated() {
                encoding.append("writer.writeValue(self.\(field.storage))")
                let reading = "self.\(field.storage) = try reader.readValue(from: bytes)"
                decoding.append(field.isAdded ? "if fields > \(index) { \(reading) }" : reading)
            }
            return WireMembers(access: access, encoding: encoding, decoding: decoding).text
        }
    }

    /// The text of the two requirements.
    struct WireMembers {
        var access: String
        var encoding: [String]
        var decoding: [String]

        var text: String {
            """
                \(access)func encode(into writer: inout ByteWriter) {
            \(Self.lines(encoding))
                }
                \(access)init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            \(Self.lines(decoding))
                }
            """
        }

        private static func lines(_ lines: [String]) -> String {
            lines.map { "        \($0)" }.joined(separator: "\n")
        }
    }
#endif

#if Macros
    import Testing

    /// What may be marked as added later, and what must be.
    @Suite struct AddedFieldTests {
        private func findings(_ members: String, frozen: Bool = false) -> [String] {
            let expansion = Expansion("@WireCodable\(frozen ? "(frozen: true)" : "") struct S {\n\(members)\n}")
            #expect(expansion.findings.isEmpty == !expansion.addition.isEmpty)
            return expansion.findings
        }

        /// Fields of the first version come first, or they would be read where an added one was written.
        @Test func nothingFollowsAnAddedField() {
            #expect(
                findings("@WireAdded var a = 1\nvar b: Int") == [
                    "3:5 older bytes end before 'a', so a field after it must be marked '@WireAdded' too"
                ])
            #expect(findings("@WireAdded var a = 1\nstatic var b = 2\nlet c = 3\nvar d: Int { 4 }") == [])
        }

        @Test func onlyFieldsAreAdded() {
            let text = "'@WireAdded' is for a stored property: nothing else is written"
            #expect(findings("@WireAdded var a: Int { 1 }") == ["2:16 \(text)"])
            #expect(findings("@WireAdded static var a = 1") == ["2:23 \(text)"])
            #expect(
                findings("var a: Int\n@WireAdded var b = 1", frozen: true) == [
                    "3:16 a frozen struct has the same fields for ever; without 'frozen: true' its bytes are others"
                ])
        }

        @Test func aConstantIsMadeAVariable() {
            let expansion = Expansion("@WireCodable struct S {\n    @WireAdded let a: Int = 1\n}")
            #expect(
                expansion.findings == [
                    "2:16 a field that older bytes lack takes its initial value, so it must be a 'var'"
                ])
            #expect(expansion.offers == ["use 'var'"])
            #expect(expansion.fixed == "@WireCodable struct S {\n    @WireAdded var a: Int = 1\n}")
        }

        @Test func anInitialValueIsAskedFor() {
            let expansion = Expansion("@WireCodable struct S {\n    @WireAdded var a: Int\n}")
            #expect(expansion.findings == ["2:20 a field that older bytes lack needs an initial value to take"])
            #expect(expansion.offers == ["give it an initial value"])
            #expect(expansion.fixed == "@WireCodable struct S {\n    @WireAdded var a: Int = <#value#>\n}")
            #expect(findings("@WireAdded var a: Int?") == [], "the compiler gives it nil")
        }

        @Test(arguments: [
            "0", "-1", "0x1F", "1.5", "true", "nil", "\"text\"", "[]", "[:]", "[1, 2]", "[\"a\": [1]]", "60 * 60",
            "(1 + 2)", ".zero", ".seconds(1)", "Int.max", "LogTime.zero", "Limits.Size.standard", "Bounds()",
            "Bounds(lowest: 0)", ".init()", "ReplicatedMap<String, Int>()", "[Int]()", "[String: Int]()",
            "Outer.Inner(a: 1)", "Date(timeIntervalSince1970: 0)",
        ])
        func whatIsTheSameEverywhereIsTaken(value: String) {
            #expect(findings("@WireAdded var a: A = \(value)") == [])
        }

        @Test(arguments: ["Date", "UUID", "Foundation.UUID", "Date?"])
        func anInitializerThatDrawsIsRefused(type: String) {
            #expect(findings("@WireAdded var a: \(type) = .init()").count == 1)
        }

        @Test(arguments: [
            "Date()", "UUID()", ".now", "Date.now", "Int.random(in: 0...3)", ".random(in: 0...3)", "limit", "limit.a",
            "makeLimit()", "\"a\\(b)\"", "[limit]", "[1: limit]", "{ 1 }()", "Bounds(lowest: limit)", "Bounds { 1 }",
            "UUID.init()", "Foundation.UUID()", "Date.init()", "Date(timeIntervalSinceNow: 0)", "try! make()",
            "flag ? 1 : 2", "Locale.current", "-limit", "1 + limit", "Limits.shared.size",
        ])
        func whatMayChangeIsRefused(value: String) {
            #expect(
                findings("@WireAdded var a: A = \(value)") == [
                    "2:23 every node must read the same value out of older bytes;"
                        + " write a literal or a constant of a type"
                ])
        }
    }
#endif

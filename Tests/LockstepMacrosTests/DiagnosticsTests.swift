#if Macros
    import Testing

    /// Whatever cannot be written is refused when the program is built, at its place and with what to do about it.
    @Suite struct DiagnosticsTests {
        private func expect(
            _ source: String, finds findings: [String], sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let expansion = Expansion(source)
            #expect(expansion.findings == findings, sourceLocation: sourceLocation)
            #expect(expansion.addition == "", "what has a fault is not written", sourceLocation: sourceLocation)
        }

        @Test func onlyStructsAndEnumsAreValues() {
            expect(
                "@WireCodable final class Account { var a = 1 }",
                finds: [
                    "1:20 '@WireCodable' is for a struct or an enum: what is sent is a copy, and a class is not"
                ])
            expect(
                "@WireCodable actor Account { var a = 1 }",
                finds: [
                    "1:14 '@WireCodable' is for a struct or an enum: what is sent is a copy, and an actor is not"
                ])
        }

        /// The code stands in an extension at the top of the file.
        @Test func typesThatTheCodeCannotSeeAreRefused() {
            let text =
                "is private to what stands around it, where the macro's code cannot see it; make it 'fileprivate'"
            let own = Expansion("struct A { @WireCodable private struct B { var c: Int } }")
            #expect(own.findings == ["1:25 'B' \(text)"])
            #expect(own.offers == ["use 'fileprivate'"])
            #expect(own.fixed == "struct A { @WireCodable fileprivate struct B { var c: Int } }")
            expect(
                "extension A { private enum B { @WireCodable struct C { var d: Int } } }", finds: ["1:45 'B' \(text)"])
            #expect(Expansion("private struct A { @WireCodable struct B { var c: Int } }").findings == [])
            #expect(Expansion("@WireCodable private struct A { private(set) var c: Int }").findings == [])
        }

        @Test(arguments: [
            ("(Int, Int)", "a tuple cannot be written; make it a struct with '@WireCodable'"),
            ("Void", "a tuple cannot be written; make it a struct with '@WireCodable'"),
            ("[(a: Int, b: Int)]?", "a tuple cannot be written; make it a struct with '@WireCodable'"),
            ("@Sendable (Int) -> Int", "a function cannot be written; write what it is made from"),
            ("(() -> Int)?", "a function cannot be written; write what it is made from"),
            ("any Shape", "which type is to be read here is not known; use an enum with a case for each type"),
            ("[any Shape]", "which type is to be read here is not known; use an enum with a case for each type"),
            ("A & B", "which type is to be read here is not known; use an enum with a case for each type"),
            ("Any", "which type is to be read here is not known; use an enum with a case for each type"),
            ("Int.Type", "a type cannot be written; use an enum with a case for each type"),
        ])
        func typesThatHaveNoBytesAreRefused(type: String, text: String) {
            for source in ["struct S { var x: \(type) }", "enum S { case x(\(type)) }"] {
                let expansion = Expansion("@WireCodable \(source)")
                #expect(expansion.findings.count == 1)
                #expect(expansion.findings.first?.hasSuffix(text) == true, "\(expansion.findings)")
                #expect(expansion.addition == "")
            }
        }

        /// Bytes of a recursive type can nest as deep as there are bytes, and each level takes some of the stack.
        @Test(arguments: [
            ("indirect enum Tree { case leaf, node(Int) }", "1:14"), ("enum Tree { indirect case leaf(Int) }", "1:26"),
            ("enum Tree { case leaf, node([Tree]) }", "1:43"), ("struct Tree { var below: [Int: [Self?]] }", "1:46"),
            ("struct Tree { var below: Outer<Tree>.Inner }", "1:45"),
        ])
        func recursiveTypesAreRefused(source: String, place: String) {
            expect(
                "@WireCodable \(source)",
                finds: [
                    "\(place) 'Tree' contains itself, so that bytes from outside could nest it until the stack overflows;"
                        + " write its coding by hand, with a limit to the depth"
                ])
        }

        /// A type inside of one with the same beginning is another type.
        @Test func membersOfTheTypeAreNoRecursion() {
            #expect(Expansion("@WireCodable struct Tree { var id: Self.ID; var kind: Tree.Kind }").findings == [])
        }

        @Test func propertiesThatCannotBeWrittenAreRefused() {
            expect(
                """
                @WireCodable struct S {
                    lazy var a: Int = 1
                    weak var b: Account?
                    var (c, d) = (1, 2)
                    #if DEBUG
                    var e: Int { 1 }
                    var f: Int
                    #endif
                }
                """,
                finds: [
                    "2:5 a lazy property cannot be written; make it a computed property",
                    "3:5 a reference to an object cannot be written; store a name or a number of it",
                    "4:9 declare each property by itself, so that it is written under its own name",
                    "7:9 what is written must not depend on how the program is built; move this out of '#if'",
                ])
            #expect(Expansion("@WireCodable struct S {\n#if DEBUG\nvar a: Int { 1 }\n#endif\n}").findings == [])
        }

        @Test func enumsThatCannotBeWrittenAreRefused() {
            let raw =
                "an enum with raw values needs no macro: with 'WireCodable' among its protocols its raw value is written"
            expect("@WireCodable enum E: UInt8, Codable { case a }", finds: ["1:22 \(raw)"])
            expect("@WireCodable enum E: Letter { case a = \"x\" }", finds: ["1:38 \(raw)"])
            expect("@WireCodable enum E {}", finds: ["1:19 an enum without cases has no value that could be written"])
            expect(
                "@WireCodable enum E {\n#if DEBUG\n#else\ncase a\n#endif\n}",
                finds: ["4:6 what is written must not depend on how the program is built; move this out of '#if'"])
            expect(
                "@WireCodable(frozen: true) enum E { case a }",
                finds: [
                    "1:22 an enum cannot be frozen; cases can be added to every enum, and the values of a case never"
                ])
        }

        @Test func frozenIsALiteralAndForStructsWithFields() {
            expect(
                "@WireCodable(frozen: isFrozen) struct S { var a: Int }",
                finds: ["1:22 write 'true' or 'false' here: the macro sees the source, not the values"])
            expect(
                "@WireCodable(frozen: true) struct S {}",
                finds: ["1:35 a frozen struct without fields takes no bytes, and no array could hold it"])
        }

        @Test func aParameterPackIsRefused() {
            expect(
                "@WireCodable struct S<each T> { var a: Row<repeat each T> }",
                finds: ["1:44 a parameter pack cannot be written; use an array, or a field for each value"])
        }

        @Test func numbersOfCasesAreLiteralsOfOneByte() {
            let text = "the number of a case is a literal from 0 to 255"
            expect(
                """
                @WireCodable enum E {
                    @WireCase(256) case a
                    @WireCase(-1) case b
                    @WireCase(first) case c
                    @WireCase(0) case d
                }
                """, finds: ["2:15 \(text)", "3:15 \(text)", "4:15 \(text)"])
            expect(
                "@WireCodable enum E {\n@WireCase(2) case a, b\n}",
                finds: ["2:22 '@WireCase' gives one case its number; write each case on a line of its own"])
            expect(
                "@WireCodable enum E {\n@WireCase(255) case a\ncase b\n}",
                finds: [
                    "3:6 'b' would be number 256, but the number of a case is one byte; give it a free one with '@WireCase'"
                ])
        }

        @Test func twoCasesWithOneNumberAreRefusedAndFreeNumbersOffered() {
            let source = """
                @WireCodable enum E {
                    case a
                    @WireCase(7) case b
                    @WireCase(1)
                    case c
                    /// A comment.
                    @WireCase(7) case d
                    @WireCase(0) case e
                    /// Another.
                    case f
                }
                """
            expect(
                source,
                finds: [
                    "5:10 the number 1 is that of the case 'a' already", "2:10 'a' has the number 1",
                    "7:23 the number 7 is that of the case 'b' already", "3:23 'b' has the number 7",
                    "10:10 the number 1 is that of the case 'a' already", "2:10 'a' has the number 1",
                ])
            let expansion = Expansion(source)
            #expect(expansion.offers == ["give 'c' the number 8", "give 'd' the number 9", "give 'f' the number 10"])
            #expect(
                expansion.fixed == """
                    @WireCodable enum E {
                        case a
                        @WireCase(7) case b
                        @WireCase(8)
                        case c
                        /// A comment.
                        @WireCase(9) case d
                        @WireCase(0) case e
                        /// Another.
                        @WireCase(10) case f
                    }
                    """)
        }

        @Test func marksThatSayNothingAreRefused() {
            expect(
                "struct S { @WireAdded var a = 1 }",
                finds: [
                    "1:27 '@WireAdded' says nothing here: the type around it is neither '@WireCodable' nor '@Digestible'"
                ])
            expect(
                "enum E { @WireCase(1) case a }",
                finds: [
                    "1:28 '@WireCase' says nothing here: the type around it is neither '@WireCodable' nor '@Digestible'"
                ])
            #expect(
                Expansion("@WireCodable enum E { @WireAdded case a }").findings == [
                    "1:39 '@WireAdded' belongs to a stored property of a struct"
                ])
            expect(
                "struct S { @WireCase(1) var a = 1 }",
                finds: ["1:29 '@WireCase' belongs to a case of an enum"])
        }
    }
#endif

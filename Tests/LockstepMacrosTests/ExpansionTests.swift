#if Macros
    import Testing

    /// The code that the macro writes, as text.
    @Suite struct ExpansionTests {
        private func expect(
            _ source: String, adds code: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let expansion = Expansion(source)
            #expect(expansion.findings == [], sourceLocation: sourceLocation)
            #expect(expansion.addition == code, sourceLocation: sourceLocation)
        }

        @Test func aStructIsTheNumberOfItsFieldsAndTheFields() {
            expect(
                """
                @WireCodable
                public struct Order {
                    let id: UInt64
                    public private(set) var a, b: Int64
                    @WireAdded var note: String = ""
                    @WireAdded var urgent = false
                }
                """,
                adds: """
                    nonisolated extension Order: WireCodable {
                        public func encode(into writer: inout ByteWriter) {
                            writer.writeVarint(5)
                            writer.writeValue(self.id)
                            writer.writeValue(self.a)
                            writer.writeValue(self.b)
                            writer.writeValue(self.note)
                            writer.writeValue(self.urgent)
                        }
                        public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
                            let fields = try reader.readFieldCount(3 ... 5, from: bytes)
                            self.id = try reader.readValue(from: bytes)
                            self.a = try reader.readValue(from: bytes)
                            self.b = try reader.readValue(from: bytes)
                            if fields > 3 {
                                self.note = try reader.readValue(from: bytes)
                            }
                            if fields > 4 {
                                self.urgent = try reader.readValue(from: bytes)
                            }
                        }
                    }
                    """)
        }

        /// What is not stored in an instance, or is the same in all, is no field; a wrapper is written whole.
        @Test func aFrozenStructIsItsStoredPropertiesAlone() {
            expect(
                """
                struct Outer {
                    @WireCodable(frozen: true) package struct Inner {
                        static let limit = 3
                        static var shared: Inner?
                        let version = 1
                        var sum: Int { first + 1 }
                        var other: Int { get { 1 } set { first = newValue } }
                        @available(*, noasync) var first: Int { didSet { } }
                        @Pulse var alert: String?
                        var `default`: Bool
                        @Pulse var `repeat`: Bool
                        private var last = [Int]()
                    }
                }
                """,
                adds: """
                    nonisolated extension Outer.Inner: WireCodable {
                        package func encode(into writer: inout ByteWriter) {
                            writer.writeValue(self.first)
                            writer.writeValue(self._alert)
                            writer.writeValue(self.`default`)
                            writer.writeValue(self._repeat)
                            writer.writeValue(self.last)
                        }
                        package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
                            self.first = try reader.readValue(from: bytes)
                            self._alert = try reader.readValue(from: bytes)
                            self.`default` = try reader.readValue(from: bytes)
                            self._repeat = try reader.readValue(from: bytes)
                            self.last = try reader.readValue(from: bytes)
                        }
                    }
                    """)
        }

        @Test func anEmptyStructIsTheNumberZero() {
            expect(
                "@WireCodable struct Tick {}",
                adds: """
                    nonisolated extension Tick: WireCodable {
                        func encode(into writer: inout ByteWriter) {
                            writer.writeVarint(0)
                        }
                        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
                            _ = try reader.readFieldCount(0 ... 0, from: bytes)
                        }
                    }
                    """)
        }

        @Test func anEnumIsItsCasesNumberAndTheValues() {
            expect(
                """
                public extension Shop {
                    @WireCodable
                    enum Action {
                        case add(String, by: Int64 = 1), none
                        @WireCase(0x10) case move(_ name: String, to: Int)
                        case `repeat`
                        @WireCase(4)
                        case done
                    }
                }
                """,
                adds: """
                    nonisolated extension Shop.Action: WireCodable {
                        public func encode(into writer: inout ByteWriter) {
                            switch self {
                            case .add(let value0, by: let value1):
                                writer.write(UInt8(1))
                                writer.writeValue(value0)
                                writer.writeValue(value1)
                            case .none:
                                writer.write(UInt8(2))
                            case .move(let value0, to: let value1):
                                writer.write(UInt8(16))
                                writer.writeValue(value0)
                                writer.writeValue(value1)
                            case .`repeat`:
                                writer.write(UInt8(17))
                            case .done:
                                writer.write(UInt8(4))
                            }
                        }
                        public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
                            switch try reader.read(UInt8.self, from: bytes) {
                            case 1:
                                self = .add(try reader.readValue(from: bytes), by: try reader.readValue(from: bytes))
                            case 2:
                                self = .none
                            case 16:
                                self = .move(try reader.readValue(from: bytes), to: try reader.readValue(from: bytes))
                            case 17:
                                self = .`repeat`
                            case 4:
                                self = .done
                            default:
                                throw WireError(.unknownKind, at: reader.offset - 1)
                            }
                        }
                    }
                    """)
        }

        /// Whose conformance follows from whose: parameters that are written, also of the types around, and their
        /// associated types; not those that only name something, and not numbers.
        @Test(arguments: [
            (
                "struct Pair<A, B>", "var a: A; var b: [Int: B?]",
                "Pair: WireCodable where A: WireCodable, B: WireCodable"
            ),
            ("struct ID<Tag, Raw>", "var raw: Raw; var again: Raw", "ID: WireCodable where Raw: WireCodable"),
            ("struct ID<Tag>", "var raw: Int", "ID: WireCodable"),
            ("struct Row<R: Reactor>", "var state: R.State", "Row: WireCodable where R.State: WireCodable"),
            ("struct Row<let count: Int>", "var cells: [Int]", "Row: WireCodable"),
            ("struct Row<A>", "var cell: Outer<A>.Cell", "Row: WireCodable where A: WireCodable"),
            (
                "enum Either<A, B>", "case a(A), b(x: Set<B>)",
                "Either: WireCodable where A: WireCodable, B: WireCodable"
            ),
        ])
        func genericParametersThatAreWrittenMustConform(declaration: String, members: String, head: String) {
            let expansion = Expansion("@WireCodable \(declaration) { \(members) }")
            #expect(expansion.findings == [])
            #expect(expansion.addition.hasPrefix("nonisolated extension \(head) {\n"), "\(expansion.addition)")
        }

        @Test func theParametersOfTheTypeAroundCount() {
            let expansion = Expansion("enum Outer<A> { @WireCodable struct Inner { var a: A } }")
            #expect(expansion.findings == [])
            #expect(
                expansion.addition.hasPrefix("nonisolated extension Outer.Inner: WireCodable where A: WireCodable {\n"))
        }

        @Test(arguments: [
            ("public", "public "), ("package", "package "), ("internal", ""), ("fileprivate", ""), ("private", ""),
            ("", ""),
        ])
        func theFunctionsAreAsVisibleAsTheType(modifier: String, access: String) {
            let code = Expansion("@WireCodable \(modifier) struct Value { var a: Int }").addition
            #expect(code.contains("\n    \(access)func encode"))
            #expect(code.contains("\n    \(access)init(from"))
        }
    }
#endif

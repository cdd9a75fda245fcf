#if Macros
    public import Lockstep
    import Testing

    @WireCodable
    private enum Shape: Hashable {
        case none
        case circle(radius: Int64)
        @WireCase(9) case box(Int64, height: Int64)
        case named(_ name: String, [Shape.Corner] = [])

        @WireCodable(frozen: true) struct Corner: Hashable {
            let x, y: Int8
        }
    }

    /// Every kind of property that is written, and some that are not.
    @WireCodable
    public struct Everything: Equatable, Sendable {
        let id: UInt64
        var ignored: Int { 1 }
        let version = 3
        static let limit = 7
        var name: String { didSet { changes += 1 } }
        fileprivate private(set) var changes = 0
        @Pulse var alert: String?
        var pair: Pair<Int, [Bool]>
        var `default`: Set<Int>
        private var secret: Float = 0.5

        init(id: UInt64, name: String, alert: String?, pair: Pair<Int, [Bool]>) {
            self.id = id
            self.name = name
            self.pair = pair
            self.default = [3, 1]
            self.alert = alert
        }
    }

    @WireCodable
    struct Pair<First, Second> {
        var first: First
        var second: Second
    }

    extension Pair: Equatable where First: Equatable, Second: Equatable {}
    extension Pair: Sendable where First: Sendable, Second: Sendable {}

    /// A parameter that only tells two types apart, and an associated type.
    @WireCodable(frozen: true)
    struct Tagged<Tag, Raw: RawRepresentable>: Equatable, Sendable
    where Raw.RawValue: Equatable & Sendable {
        var raw: Raw.RawValue
    }

    enum Level: UInt8, WireCodable { case low = 1, high = 5 }

    /// What stands around other types.
    public enum Outer<Value> {
        @WireCodable struct Inner { var value: Value? }
    }

    @WireCodable struct Nothing: Hashable, Codable {}

    /// Who names the protocol already still gets the functions.
    @WireCodable struct Named: WireCodable, Hashable { var level: Level }

    public extension Outer where Value == Int {
        @WireCodable struct Public { var value: Int }
    }

    /// What the macro writes does what it says: golden bytes, every value comes back, and nothing makes a trap.
    @Suite struct DerivedCodingTests {
        @WireCodable fileprivate struct Inside: Hashable {
            var shapes: [String: Shape]
        }

        @Test func enumsHaveTheirGoldenBytes() throws {
            try checkComesBack(Shape.none, [1])
            try checkComesBack(Shape.circle(radius: -1), [2, 1])
            try checkComesBack(Shape.box(1, height: 2), [9, 2, 4])
            try checkComesBack(Shape.named("a", [Shape.Corner(x: 1, y: -1)]), [10, 1, 0x61, 1, 2, 1])
        }

        @Test func structsHaveTheirGoldenBytes() throws {
            try checkComesBack(Nothing(), [0])
            try checkComesBack(
                Inside(shapes: ["a": .none, "b": .circle(radius: 1)]), [1, 2, 1, 0x61, 1, 1, 0x62, 2, 2])
            try checkComesBack(Pair(first: "a", second: true), [2, 1, 0x61, 1])
            try checkComesBack(Named(level: .high), [1, 5])
            try checkComesBack(Tagged<Shape, Level>(raw: 5), [5])
            try checkComesBack([Nothing(), Nothing()], [2, 0, 0])
            #expect(bytes(Outer.Inner(value: "a")) == [1, 1, 1, 0x61])
            #expect(try decode(Outer<Int>.Inner.self, [1, 0]).value == nil)
            #expect(bytes(Outer<Int>.Public(value: 1)) == [1, 2])
        }

        /// Fields in order: id, name, changes, alert with its count, pair, default, secret.
        @Test func allStoredPropertiesAreWrittenAndNothingElse() throws {
            var value = Everything(id: 3, name: "a", alert: nil, pair: Pair(first: 1, second: [true]))
            value.alert = "b"
            value.name = "c"
            let golden: [UInt8] = [7, 3, 1, 0x63, 2, 1, 1, 0x62, 2, 2, 2, 1, 1, 2, 2, 6, 0, 0, 0, 0x3F]
            try checkComesBack(value, golden)
            let back = try decode(Everything.self, golden)
            #expect(back.$alert.count == value.$alert.count && back.changes == 1)
        }

        @Test(arguments: [0, 3, 8, 11, 255] as [UInt8])
        func anUnknownCaseIsRefusedAtItsByte(number: UInt8) {
            #expect(throws: WireError(.unknownKind, at: 0)) { try decode(Shape.self, [number, 0, 0]) }
            #expect(throws: WireError(.unknownKind, at: 4)) { try decode(Inside.self, [1, 1, 1, 0x61, number]) }
            #expect("\(WireError(.unknownKind, at: 4))" == "unknown kind at byte 4")
        }

        /// The number of fields is right, or the value is refused, wherever it stands.
        @Test func anotherNumberOfFieldsIsRefusedAtItsByte() {
            #expect(throws: WireError(.missingFields, at: 0)) { try decode(Pair<Int, Int>.self, [1, 0]) }
            #expect(throws: WireError(.unknownFields, at: 0)) { try decode(Pair<Int, Int>.self, [3, 0, 0, 0]) }
            #expect(throws: WireError(.unknownFields, at: 1)) { try decode([Nothing].self, [2, 1, 0]) }
            #expect(throws: WireError(.outOfRange, at: 1)) { try decode(Pair<Int, Int>.self, [0x82, 0, 0, 0]) }
        }

        /// Random values of many fields and cases, with a seed that is the same in every run.
        @Test(arguments: 0..<10 as Range<UInt64>)
        func randomValuesComeBack(seed: UInt64) throws {
            var random = SplitMix64(seed: seed)
            func text() -> String {
                String(
                    (0..<Int.random(in: 0...20, using: &random)).map { _ in
                        "aé\u{1F680}z".randomElement(using: &random) ?? "a"
                    })
            }
            func shape() -> Shape {
                switch Int.random(in: 0...3, using: &random) {
                case 0: .none
                case 1: .circle(radius: .random(in: .min ... .max, using: &random))
                case 2:
                    .box(.random(in: -100...100, using: &random), height: .random(in: .min ... .max, using: &random))
                default: .named(text(), [Shape.Corner(x: .random(in: .min ... .max, using: &random), y: 0)])
                }
            }
            for _ in 0..<5 {
                try checkComesBack(shape())
                try checkComesBack(Inside(shapes: [text(): shape(), text() + "!": shape()]))
                var value = Everything(
                    id: random.next(), name: text(), alert: Bool.random(using: &random) ? text() : nil,
                    pair: Pair(first: .random(in: .min ... .max, using: &random), second: [.random(using: &random)]))
                value.default = [.random(in: .min ... .max, using: &random)]
                try checkComesBack(value)
            }
        }

        /// Each cut of the bytes is an error, and what comes out of noise is an error or a value.
        @Test(arguments: 0..<20 as Range<UInt64>)
        func noiseMakesNoTrap(seed: UInt64) throws {
            var random = SplitMix64(seed: seed)
            for length in 0..<60 {
                var noise = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
                // Most noise ends at the first byte; one that begins well goes further.
                if Bool.random(using: &random), length > 0 {
                    noise[0] = [1, 2, 7, 9, 10][Int.random(in: 0...4, using: &random)]
                }
                if let value = try? decode(Everything.self, noise) {
                    #expect(try decode(Everything.self, bytes(value)) == value)
                }
                if let value = try? decode(Shape.self, noise) { #expect(try decode(Shape.self, bytes(value)) == value) }
                if let value = try? decode(Inside.self, noise) {
                    #expect(try decode(Inside.self, bytes(value)) == value)
                }
            }
        }
    }
#endif

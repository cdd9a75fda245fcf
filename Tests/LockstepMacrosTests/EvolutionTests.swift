#if Macros
    import Lockstep
    import Testing

    /// Three versions of one format: an order, which stands in the middle of other values.
    private enum First {
        @WireCodable struct Order: Hashable {
            var id: UInt64
            var amount: Int64
        }
        @WireCodable enum Action: Hashable {
            case place([Order], by: String)
        }
    }

    private enum Second {
        @WireCodable struct Order: Hashable {
            var id: UInt64
            var amount: Int64
            @WireAdded var note: String = "none"
        }
        @WireCodable enum Action: Hashable {
            case place([Order], by: String)
            case cancel(id: UInt64)
        }
    }

    private enum Third {
        @WireCodable struct Order: Hashable {
            var id: UInt64
            var amount: Int64
            @WireAdded var note: String = "none"
            @WireAdded var limit: Int64?
            @WireAdded var tags: [String] = ["new"]
        }
        /// The case `place` is gone, and its number is free for ever.
        @WireCodable enum Action: Hashable {
            @WireCase(3) case correct(Order)
            @WireCase(2) case cancel(id: UInt64)
        }
    }

    /// Types that contain each other, which the macro cannot see.
    private enum Ring {
        @WireCodable struct Street: Hashable {
            var houses: [House] = []
        }
        @WireCodable struct House: Hashable {
            var streets: [Street] = []
        }
    }

    /// Newer code reads older bytes; older code refuses what it does not know (the page WireCoding).
    @Suite struct EvolutionTests {
        private let first: [UInt8] = [2, 5, 6]
        private let second: [UInt8] = [3, 5, 6, 1, 0x61]
        private let third: [UInt8] = [5, 5, 6, 1, 0x61, 1, 8, 1, 1, 0x62]

        @Test func eachVersionHasItsGoldenBytes() throws {
            try checkComesBack(First.Order(id: 5, amount: 3), first)
            try checkComesBack(Second.Order(id: 5, amount: 3, note: "a"), second)
            try checkComesBack(Third.Order(id: 5, amount: 3, note: "a", limit: 4, tags: ["b"]), third)
        }

        @Test func newCodeReadsOldBytes() throws {
            #expect(try decode(Second.Order.self, first) == Second.Order(id: 5, amount: 3, note: "none"))
            #expect(
                try decode(Third.Order.self, first)
                    == Third.Order(id: 5, amount: 3, note: "none", limit: nil, tags: ["new"]))
            #expect(
                try decode(Third.Order.self, second)
                    == Third.Order(id: 5, amount: 3, note: "a", limit: nil, tags: ["new"]))
        }

        /// A field that was added is also read where other values follow: the number in front tells where it ends.
        @Test func newCodeReadsOldBytesInTheMiddleOfOthers() throws {
            let old = First.Action.place([First.Order(id: 1, amount: 2), First.Order(id: 3, amount: 4)], by: "x")
            #expect(
                try decode(Second.Action.self, bytes(old))
                    == .place(
                        [Second.Order(id: 1, amount: 2, note: "none"), Second.Order(id: 3, amount: 4, note: "none")],
                        by: "x"))
            #expect(throws: WireError(.truncated, at: bytes(old).count - 1)) {
                try decode(Second.Action.self, bytes(old).dropLast())
            }
        }

        @Test func oldCodeRefusesNewFields() {
            #expect(throws: WireError(.unknownFields, at: 0)) { try decode(First.Order.self, second) }
            #expect(throws: WireError(.unknownFields, at: 0)) { try decode(First.Order.self, third) }
            #expect(throws: WireError(.unknownFields, at: 0)) { try decode(Second.Order.self, third) }
            let new = Second.Action.place([Second.Order(id: 1, amount: 2, note: "")], by: "x")
            #expect(throws: WireError(.unknownFields, at: 2)) { try decode(First.Action.self, bytes(new)) }
            #expect("\(WireError(.unknownFields, at: 2))" == "fields of a newer version at byte 2")
        }

        @Test func oldCodeRefusesNewCasesAndNewCodeThoseThatAreGone() throws {
            #expect(throws: WireError(.unknownKind, at: 0)) {
                try decode(First.Action.self, bytes(Second.Action.cancel(id: 1)))
            }
            #expect(throws: WireError(.unknownKind, at: 0)) {
                try decode(Third.Action.self, bytes(First.Action.place([], by: "")))
            }
            // Moved in the source, the same on the wire.
            #expect(try decode(Third.Action.self, bytes(Second.Action.cancel(id: 1))) == .cancel(id: 1))
        }

        /// No version ever wrote fewer fields than the first; a wrong number does not make up values.
        @Test(arguments: [0, 1, 6, 127] as [UInt8])
        func numbersThatNoVersionWroteAreRefused(count: UInt8) {
            let problem: WireError.Problem = count < 2 ? .missingFields : .unknownFields
            #expect(throws: WireError(problem, at: 0)) { try decode(Third.Order.self, [count] + third.dropFirst()) }
            #expect("\(WireError(.missingFields, at: 0))" == "missing fields at byte 0")
        }

        /// Bytes from outside nest values as deep as they like; the stack has an end.
        @Test func bytesThatNestTooDeepAreRefused() throws {
            #expect(throws: WireError(.tooDeep, at: 513)) {
                try decode(Ring.Street.self, [UInt8](repeating: 1, count: 1 << 20))
            }
            let deep = (0..<100).reduce(Ring.Street()) { street, _ in
                Ring.Street(houses: [Ring.House(streets: [street])])
            }
            var writer = ByteWriter()
            deep.encode(into: &writer)
            #expect(try decode(Ring.Street.self, writer.bytes) == deep)
        }

        /// A number that is smaller than what was written leaves bytes over, a greater one finds none.
        @Test func aNumberThatIsNotThatOfTheBytesIsRefused() {
            #expect(throws: WireError(.trailingBytes, at: 3)) { try decode(Third.Order.self, [2] + third.dropFirst()) }
            #expect(throws: WireError(.truncated, at: 5)) { try decode(Third.Order.self, [4] + second.dropFirst()) }
        }
    }
#endif

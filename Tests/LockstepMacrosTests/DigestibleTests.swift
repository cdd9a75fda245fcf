#if Macros
    import Lockstep
    import Testing

    /// Two versions of one program.
    private enum Before {
        @Digestible struct Account: Hashable {
            var owner: String
            var balance: Int64
            let kind = 3
            var isEmpty: Bool { balance == 0 }
        }
        @Digestible enum Event: Hashable {
            case opened
            case moved(Int64, to: String)
            case closed(Int64)
        }
    }

    private enum After {
        @WireCodable @Digestible struct Account: Codable, Hashable {
            var owner: String
            var balance: Int64
            @WireAdded var note: String = "none"
            @WireAdded var limit: Int64?
        }
        /// Moved, and with a new case.
        @Digestible enum Event: Hashable {
            @WireCase(4) case frozen(Int64, to: String)
            @WireCase(3) case closed(Int64)
            @WireCase(1) case opened
            case moved(Int64, to: String)
        }
    }

    @Digestible private struct DigestedPair<First, Second> {
        @Pulse var alert: String?
        var first: First?
        var second: [Second]
    }

    @Digestible private struct DigestedNothing {}

    /// What `@Digestible` writes: the code as text, and what it computes (PROTOCOL R-51).
    @Suite struct DigestibleTests {
        private let object = Digest(rawValue: 0x6F62_6A65_6374)
        private let mark = Digest(rawValue: 0x6361_7365)

        private func chain(_ start: Digest, _ values: any Digestible...) -> Digest {
            values.reduce(start) { .pair($0, $1.contentDigest) }
        }

        @Test func theDigestFollowsTheRule() {
            #expect(
                Before.Account(owner: "Ada", balance: -3).contentDigest
                    == chain(.pair(object, 2.contentDigest), "Ada", -3))
            #expect(Before.Event.opened.contentDigest == .pair(mark, 1.contentDigest))
            #expect(
                Before.Event.moved(4, to: "b").contentDigest == chain(.pair(mark, 2.contentDigest), 4, "b"))
            #expect(DigestedNothing().contentDigest == .pair(object, 0.contentDigest))
        }

        /// A later field shows only where it is used; a case keeps its digest with its number.
        @Test func anOlderProgramComputesTheSameUntilANewFieldIsUsed() {
            let old = Before.Account(owner: "Ada", balance: 5).contentDigest
            #expect(After.Account(owner: "Ada", balance: 5).contentDigest == old)
            let noted = After.Account(owner: "Ada", balance: 5, note: "x").contentDigest
            #expect(noted == .pair(.pair(old, 3.contentDigest), "x".contentDigest))
            let limited = After.Account(owner: "Ada", balance: 5, limit: 9).contentDigest
            #expect(limited == .pair(.pair(old, 4.contentDigest), Int64?.some(9).contentDigest))
            #expect(After.Event.opened.contentDigest == Before.Event.opened.contentDigest)
            #expect(After.Event.closed(2).contentDigest == Before.Event.closed(2).contentDigest)
            #expect(After.Event.moved(2, to: "a").contentDigest == Before.Event.moved(2, to: "a").contentDigest)
            #expect(After.Event.frozen(2, to: "a").contentDigest != After.Event.moved(2, to: "a").contentDigest)
        }

        /// Each single change shows, in a map as alone.
        @Test func everyChangeShows() {
            let accounts = [
                After.Account(owner: "a", balance: 1), After.Account(owner: "b", balance: 1),
                After.Account(owner: "a", balance: 2), After.Account(owner: "a", balance: 1, note: ""),
                After.Account(owner: "a", balance: 1, limit: 0),
                After.Account(owner: "a", balance: 1, note: "", limit: 0),
            ]
            let maps = accounts.map { ReplicatedMap<Int, After.Account>(dictionaryLiteral: (1, $0)) }
            #expect(Set(accounts.map(\.contentDigest)).count == accounts.count)
            #expect(Set(maps.map(\.digest)).count == accounts.count)
            let events: [Before.Event] = [.opened, .moved(1, to: ""), .moved(1, to: "1"), .closed(1), .closed(0)]
            #expect(Set(events.map(\.contentDigest)).count == events.count)
        }

        /// A type with parameters asks of them what its fields need; a wrapper is digested whole.
        @Test func parametersAndWrappersAreDigested() {
            var pair = DigestedPair<Int, String>(alert: "a", first: 1, second: ["a"])
            let before = pair.contentDigest
            pair.alert = "a"
            #expect(pair.contentDigest != before, "a pulse that was assigned again has fired")
            pair = DigestedPair(alert: "a", first: 2, second: ["a"])
            #expect(pair.contentDigest != before)
        }

        @Test func theCodeIsAnExtension() {
            let expansion = Expansion(
                """
                @Digestible
                public struct Order<ID> {
                    public var id: ID
                    @Pulse var alert: String?
                    static var shared = 1
                    @WireAdded var note: String = ""
                    @WireAdded var limit: Int?
                }
                """)
            #expect(expansion.findings == [])
            #expect(
                expansion.addition == """
                    nonisolated extension Order: Digestible where ID: Digestible {
                        public var contentDigest: Digest {
                            var digest = Digest(fields: 2)
                            digest.add(self.id)
                            digest.add(self._alert)
                            digest.add(self.note, field: 3, unless: "")
                            digest.add(self.limit, field: 4, unless: nil)
                            return digest
                        }
                    }
                    """)
        }

        /// What cannot be digested is refused at its place; what stands in the way of bytes alone is not.
        @Test func whatCannotBeDigestedIsRefused() {
            func findings(_ source: String) -> [String] {
                let expansion = Expansion("@Digestible \(source)")
                #expect(expansion.findings.isEmpty == !expansion.addition.isEmpty)
                return expansion.findings
            }
            #expect(
                findings("final class A { var a = 1 }") == [
                    "1:19 '@Digestible' is for a struct or an enum: what a digest says must stay, and a class changes"
                ])
            #expect(
                findings("struct A { lazy var a: Int = 1 }") == [
                    "1:24 a lazy property cannot be written; make it a computed property"
                ])
            #expect(
                findings("enum A: String { case a }") == [
                    "1:21 an enum with raw values needs no macro: with 'Digestible' among its protocols its raw value is"
                        + " digested"
                ])
            #expect(
                findings("struct A { @WireAdded var a: Int\nvar b: Int }") == [
                    "1:39 a field that older bytes lack needs an initial value to take"
                ])
            #expect(findings("struct Tree { var below: [Tree] }") == [])
        }

        /// A fault of a type with both macros is said once.
        @Test func aFaultOfBothMacrosIsSaidOnce() {
            let expansion = Expansion("@WireCodable @Digestible struct A { lazy var a: Int = 1 }")
            #expect(expansion.findings.count == 1)
            #expect(expansion.addition == "")
        }
    }
#endif

#if Macros
    import Lockstep
    import Testing

    /// The code of WireCoding.md, before and after its type has grown.
    private enum Before {
        struct Orders: Reactor {
            @WireCodable
            enum Action: Codable, Sendable, Equatable {
                case place(Order)
                case cancel(id: UInt64)
            }

            @WireCodable
            struct Order: Codable, Sendable, Equatable {
                var id: UInt64
                var article: String
            }

            @WireCodable
            struct State: Codable, Sendable {
                var open: [UInt64: Order] = [:]
            }

            var initialState: State { State() }

            /// An action is the mutation too.
            static func reduce(into state: inout State, _ action: Action, _ context: ReduceContext) {
                switch action {
                case .place(let order): state.open[order.id] = order
                case .cancel(let id): state.open[id] = nil
                }
            }
        }
    }

    private enum After {
        enum Orders {
            @WireCodable
            enum Action: Codable, Sendable, Equatable {
                case place(Order)
                case cancel(id: UInt64)
            }

            @WireCodable
            struct Order: Codable, Sendable, Equatable {
                var id: UInt64
                var article: String
                @WireAdded var amount: Int64 = 1
            }
        }
    }

    @Suite(.timeLimit(.minutes(5))) struct WireCodingPage {
        fileprivate typealias Orders = After.Orders

        @Test func theBytesOfAnActionStay() throws {
            var writer = ByteWriter()
            Orders.Action.place(Orders.Order(id: 5, article: "ink", amount: 3)).encode(into: &writer)
            #expect(writer.bytes == [1, 3, 5, 3, 0x69, 0x6E, 0x6B, 6])

            let old: [UInt8] = [1, 2, 5, 3, 0x69, 0x6E, 0x6B]
            let action = try withBytes(of: old) { (bytes) throws(WireError) in
                var reader = ByteReader(bytes)
                return try Orders.Action(from: bytes, &reader)
            }
            #expect(action == .place(Orders.Order(id: 5, article: "ink", amount: 1)))
        }

        /// All types of a reactor take their own bytes, and its actions go through a log.
        @Test func aReactorTakesTheDerivedCoding() async throws {
            #expect(Before.Orders.actionCoding.name == "wire" && Before.Orders.mutationCoding.name == "wire")
            #expect(Before.Orders.stateCoding.name == "wire")
            let node = try Node(.local())
            let store = try node.store(Before.Orders(), named: "orders")
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await node.run() }
                defer { group.cancelAll() }
                _ = try await store.send(.place(Before.Orders.Order(id: 5, article: "ink")))
                _ = try await store.send(.place(Before.Orders.Order(id: 6, article: "pen")))
                _ = try await store.send(.cancel(id: 6))
                let open = try await store.read { $0.open }
                #expect(open[5] == Before.Orders.Order(id: 5, article: "ink") && open.count == 1)
            }
        }
    }
#endif

#if Web
    import SearchCache
    import SearchCacheWeb
    import Testing

    /// So many at once, the others in their order.
    @Suite(.timeLimit(.minutes(5))) struct RequestSlotsTests {
        /// Who came first is first, and a slot is never free while somebody waits.
        @Test func slotsAreGivenInTheOrderOfTheCalls() async throws {
            let slots = RequestSlots(1, waiting: 100)
            let gate = Gate()
            let order = Signal<[Int]>([])
            let holds = Gate()
            let first = Task {
                try await slots.withSlot {
                    holds.open()
                    try await gate.pass()
                }
            }
            try await holds.pass()
            var tasks: [Task<Void, any Error>] = []
            for number in 1...20 {
                tasks.append(Task { try await slots.withSlot { order.change { $0.append(number) } } })
                await until { slots.waitingCount == number }
            }
            gate.open()
            try await first.value
            for task in tasks { try await task.value }
            #expect(order.value == Array(1...20))
            #expect(slots.waitingCount == 0)
        }

        /// A caller that is cancelled goes at once, and takes nobody's slot with it.
        @Test func aWaitingCallerCanBeCancelled() async throws {
            let slots = RequestSlots(1, waiting: 100)
            let gate = Gate()
            let holds = Gate()
            let first = Task {
                try await slots.withSlot {
                    holds.open()
                    try await gate.pass()
                }
            }
            try await holds.pass()
            let second = Task { try await slots.withSlot { _ = Issue.record("it was cancelled") } }
            await until { slots.waitingCount == 1 }
            let third = Task { try await slots.withSlot { 3 } }
            await until { slots.waitingCount == 2 }
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            #expect(slots.waitingCount == 1)
            gate.open()
            try await first.value
            #expect(try await third.value == 3)
            // The slot is free again.
            #expect(try await slots.withSlot { 4 } == 4)
        }

        /// A caller that was cancelled before it came does not get a slot, though one is free.
        @Test func aCancelledCallerGetsNoSlot() async throws {
            let slots = RequestSlots(1, waiting: 0)
            let gate = Gate()
            let task = Task {
                // The gate is never opened: it ends when the task is cancelled.
                try? await gate.pass()
                try await slots.withSlot { _ = Issue.record("it was cancelled") }
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await slots.withSlot { 1 } == 1)
        }

        /// What is beyond the bound is refused, and a body that throws gives its slot back.
        @Test func thereIsABoundForThoseWhoWait() async throws {
            let slots = RequestSlots(1, waiting: 1)
            let gate = Gate()
            let holds = Gate()
            let first = Task {
                try await slots.withSlot {
                    holds.open()
                    try await gate.pass()
                    throw SearchError(.server, "the body's own")
                }
            }
            try await holds.pass()
            let second = Task { try await slots.withSlot { 2 } }
            await until { slots.waitingCount == 1 }
            let refused = await #expect(throws: SearchError.self) { try await slots.withSlot { 3 } }
            #expect(refused?.kind == .offline)
            gate.open()
            let failed = await #expect(throws: SearchError.self) { try await first.value }
            #expect(failed?.kind == .server)
            #expect(try await second.value == 2)
        }

        /// Yields until it is so; for what tells nobody that it changed.
        private func until(_ condition: () -> Bool) async {
            while !condition(), !Task.isCancelled { await Task.yield() }
        }
    }
#endif

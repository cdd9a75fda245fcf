#if Macros
    import Lockstep
    import Testing

    /// The code of Values.md that has the macro.
    enum ValuesMacroPage {
        @WireCodable @Digestible
        struct Seat: Codable, Sendable {
            var row: Int
            var holder: String?
            @WireAdded var note: String = ""
        }
    }

    @Suite struct ValuesMacroPageTests {
        /// A map of such values shows each change of one.
        @Test func aChangedSeatShows() {
            var seats: ReplicatedMap<Int, ValuesMacroPage.Seat> = [:]
            seats[1] = ValuesMacroPage.Seat(row: 1, holder: nil)
            let before = seats.digest
            seats[1]?.note = "reserved"
            #expect(seats.digest != before)
            seats[1]?.note = ""
            #expect(seats.digest == before)
        }
    }
#endif

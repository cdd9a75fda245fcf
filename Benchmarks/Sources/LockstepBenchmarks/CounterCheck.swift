import CAllocations
import Foundation

/// Checks that the counter finds what is allocated, and nothing where nothing is.
///
/// The counter stands between the libraries and malloc, so a linker or a library of another kind could go past it.
enum CounterCheck {
    private static let count = 1_000

    static func run() throws {
        try expect(asked: Int(allocate_in_every_way()), "malloc's family") { _ = allocate_in_every_way() }
        try expect(asked: count, "objects") { Planted.allocate(count) }
        try expect(asked: count, "arrays") {
            for size in 1...count { keep([UInt8](repeating: 0, count: size)) }
        }
        try expect(asked: 0, "a loop without allocations") {
            var sum = 0
            for number in 0..<count { sum &+= sum &* 31 &+ number }
            keep(sum)
        }
        try expectOfAnotherThread()
    }

    private static func expect(asked: Int, _ what: String, _ body: () -> Void) throws {
        let before = allocations_of_thread()
        body()
        let found = Int(allocations_of_thread().count - before.count)
        guard found == asked else { throw Failure("the counter is wrong: it found \(found) of \(asked) for \(what)") }
    }

    /// Another thread's count only where all threads' are asked for; a thread itself takes a few.
    private static func expectOfAnotherThread() throws {
        let own = allocations_of_thread()
        let all = allocations_of_all_threads()
        count_allocations_of_all_threads(true)
        let end = DispatchSemaphore(value: 0)
        let thread = Thread {
            Planted.allocate(count)
            end.signal()
        }
        thread.start()
        end.wait()
        count_allocations_of_all_threads(false)
        let foundOwn = Int(allocations_of_thread().count - own.count)
        let foundAll = Int(allocations_of_all_threads().count - all.count)
        guard foundOwn < 100, (count..<count + 200).contains(foundAll) else {
            throw Failure("the counter is wrong: another thread's \(count) were found as \(foundAll), own \(foundOwn)")
        }
    }
}

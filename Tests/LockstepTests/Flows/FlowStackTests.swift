import Foundation
import Lockstep
import Testing

/// The stack of routes as a value (SEMANTICS C1, C10).
@Suite struct FlowStackTests {
    typealias Stack = FlowStack<String>

    private func route(_ id: String, parent: String? = nil, _ text: String = "x") -> FlowRoute<String> {
        FlowRoute(id: FlowID(id), parent: parent.map { FlowID($0) }, route: text)
    }

    private func stack(_ routes: [FlowRoute<String>]) -> Stack {
        var stack = Stack()
        for route in routes { stack.push(route) }
        return stack
    }

    private func names(_ stack: Stack) -> [String] { stack.routes.map(\.id.rawValue) }

    /// SEMANTICS C10: removal is idempotent, and takes the descendants along.
    @Test func removalIsIdempotentAndTakesDescendantsAlong() {
        var stack = stack([route("a"), route("b", parent: "a"), route("c", parent: "b"), route("d")])
        let isRemoved = stack.remove(FlowID("b"))
        #expect(isRemoved)
        #expect(names(stack) == ["a", "d"])
        let before = stack
        let again = [stack.remove(FlowID("b")), stack.remove(FlowID("c"))]
        #expect(again == [false, false])
        #expect(stack == before)
    }

    /// SEMANTICS C1: what cannot be done is said, and changes nothing.
    @Test func whatCannotBePushedIsNamed() {
        var stack = stack([route("a")])
        let before = stack
        let answers = [stack.push(route("a", "other")), stack.push(route("b", parent: "z"))]
        #expect(answers == [.alreadyThere, .parentMissing])
        let isReplaced = stack.replace(FlowID("z"), with: "y")
        #expect(!isReplaced)
        #expect(stack == before)
        let more = (1...Stack.limit).map { stack.push(route("\($0)")) }
        #expect(more.dropLast().allSatisfy { $0 == .pushed })
        #expect(more.last == .full)
        #expect(stack.routes.count == Stack.limit)
    }

    /// Push, pop and replace work at the top and in their place.
    @Test func pushPopAndReplaceWork() {
        var stack = stack([route("a"), route("b")])
        let isReplaced = stack.replace(FlowID("a"), with: "new")
        #expect(isReplaced)
        #expect(stack.routes.map(\.route) == ["new", "x"])
        let popped = stack.pop()
        #expect(popped?.id == FlowID("b"))
        #expect(stack.top?.id == FlowID("a"))
        let rest = [stack.pop(), stack.pop()]
        #expect(rest.map { $0?.id } == [FlowID("a"), nil])
    }

    /// A stack goes through its coding unchanged, and one that no pushes could have made is refused.
    @Test func codingKeepsWhatPushesCanMake() throws {
        let stack = stack([route("a"), route("b", parent: "a")])
        let data = try JSONEncoder().encode(stack)
        #expect(try JSONDecoder().decode(Stack.self, from: data) == stack)
        for text in [
            #"{"routes":[{"id":"a","route":"x"},{"id":"a","route":"y"}]}"#,
            #"{"routes":[{"id":"b","parent":"a","route":"x"},{"id":"a","route":"y"}]}"#,
        ] {
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(Stack.self, from: Data(text.utf8)) }
        }
    }

    /// What a presenter is told is as little as can be.
    @Test func theDifferenceLeavesAloneWhatStands() {
        let old = stack([route("a"), route("b"), route("c")])
        func told(_ new: Stack) -> [String] {
            let (dismissed, presented) = new.difference(from: old)
            return dismissed.map { "-\($0)" } + presented.map { "+\($0.id)" }
        }
        #expect(told(old) == [])
        #expect(told(stack([route("a"), route("c")])) == ["-b"])
        #expect(told(stack([route("a"), route("b"), route("c"), route("d")])) == ["+d"])
        #expect(told(stack([])) == ["-c", "-b", "-a"])
        #expect(told(stack([route("a"), route("b"), route("c", "new")])) == ["-c", "+c"])
        #expect(told(stack([route("a"), route("x"), route("c")])) == ["-c", "-b", "+x", "+c"])
    }

    /// For any two stacks, doing what the difference says shows the new one.
    @Test(arguments: 0..<200) func theDifferenceLeadsToTheNewStack(seed: UInt64) {
        var generator = Numbers(state: seed)
        func anyStack() -> Stack {
            var stack = Stack()
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                let ids = ["a", "b", "c", "d", "e", "f"]
                let id = ids[Int.random(in: 0..<ids.count, using: &generator)]
                let parent = Bool.random(using: &generator) ? stack.top?.id.rawValue : nil
                stack.push(route(id, parent: parent, Bool.random(using: &generator) ? "x" : "y"))
            }
            return stack
        }
        let (old, new) = (anyStack(), anyStack())
        let (dismissed, presented) = new.difference(from: old)
        var shown = old.routes
        for id in dismissed {
            #expect(shown.contains { $0.id == id })
            shown.removeAll { $0.id == id }
        }
        shown += presented
        #expect(shown == new.routes)
    }
}

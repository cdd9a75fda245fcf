import LockstepServer
import Testing

/// What is wrong with JSON on the command line is said in one line, with the place, in words of JSON.
@Suite struct JSONArgumentTests {
    @Test(arguments: [
        (#"{"sell":{"_0":"pear"}"#, "it is no JSON"),
        ("", "it is no JSON"),
        (#"{"buy":{"_0":"pear"}}"#, "no case of Action is named"),
        (#"{"sell":{}}"#, #""_0" is missing in sell"#),
        (#"{"sell":{"_0":3}}"#, "a text is needed at sell._0"),
        (#"{"restock":{"_0":"pear","pieces":"many"}}"#, "a whole number (Int) is needed at restock.pieces"),
        (#"{"restock":{"_0":"pear","pieces":1.5}}"#, "a number in it does not fit its type"),
        (#"{"restock":{"_0":"pear","pieces":99999999999999999999}}"#, "a number in it does not fit its type"),
        (#"["sell"]"#, "is needed"),
        (#""sell""#, "is needed"),
        ("{\"sell\":{\"_0\":\"\u{0}\"}}", "it is no JSON"),
    ]) func whatIsWrongIsNamed(text: String, explanation: String) throws {
        let failure = try #require(throws: CommandFailure.self) {
            let _: Stock.Action = try JSONArgument.read(text, as: "the action of stock")
        }
        #expect(failure.status == .usage)
        #expect(failure.message.hasPrefix("the action of stock cannot be read: "))
        #expect(failure.message.contains(explanation), "\(failure.message)")
        #expect(!failure.message.contains("\n"))
        // Neither the names of Foundation's errors nor those of their fields.
        for word in ["DecodingError", "codingPath", "Context(", "debugDescription", "CodingKeys"] {
            #expect(!failure.message.contains(word), "\(failure.message)")
        }
    }

    @Test func anActionIsRead() throws {
        let action: Stock.Action = try JSONArgument.read(#"{"restock":{"_0":"pear","pieces":2}}"#, as: "the action")
        guard case .restock("pear", 2) = action else {
            Issue.record("it is \(action)")
            return
        }
    }
}

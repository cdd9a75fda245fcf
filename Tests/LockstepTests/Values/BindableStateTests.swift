import Foundation
import Lockstep
import LockstepCore
import Testing

/// Bindings whose fields are named by an enum (SEMANTICS K54).
@Suite struct BindableStateTests {
    enum Color: String, Codable { case red, blue }

    /// A form with a text, a toggle, a number, a choice and something that may be missing.
    struct Form: Codable, Hashable, Sendable, BindableState {
        var title = ""
        var isDone = false
        var amount = 0
        var color = Color.red
        var note: String?
        /// Is in no field, so no edit reaches it.
        var secret = 7

        enum Field: String, Codable, CaseIterable { case title, isDone, amount, color, note, trimmed }

        static func place(of field: Field) -> FieldPlace<Form> {
            switch field {
            case .title: FieldPlace(\.title)
            case .isDone: FieldPlace(\.isDone)
            case .amount: FieldPlace(\.amount)
            case .color: FieldPlace(\.color)
            case .note: FieldPlace(\.note)
            case .trimmed: FieldPlace(\.trimmed)
            }
        }

        /// A reducer may have its own idea of a value.
        var trimmed: String {
            get { title }
            set { title = newValue.filter { $0 != " " } }
        }
    }

    struct Editor: Reactor {
        enum Action: Codable, Hashable, Sendable { case edit(FieldEdit<Form>) }
        typealias State = Form
        var initialState: Form { Form() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            if case .edit(let edit) = action, edit.field == .amount, let amount = edit.value as? Int, amount < 0 {
                throw Rejection("an amount is not negative")
            }
            return .emit(action)
        }

        static func reduce(into state: inout Form, _ action: Action, _ context: ReduceContext) {
            switch action {
            case .edit(let edit): state.apply(edit)
            }
        }
    }

    private func edits() throws -> [FieldEdit<Form>] {
        [
            try FieldEdit(.title, to: "Ada"), try FieldEdit(.isDone, to: true), try FieldEdit(.amount, to: 42),
            try FieldEdit(.color, to: Color.blue), try FieldEdit(.note, to: Optional("x")),
            try FieldEdit(.note, to: String?.none),
        ]
    }

    @Test func editsAreEncodedAndApplied() throws {
        var form = Form()
        for edit in try edits() {
            let bytes = try Editor.actionCoding.encoded(.edit(edit))
            let back = try Editor.actionCoding.decoded(bytes)
            #expect(back == .edit(edit) && back.hashValue == Editor.Action.edit(edit).hashValue)
            Editor.reduce(into: &form, back, ReduceContext(time: .zero, epoch: .zero, sequence: .zero))
        }
        #expect(form == Form(title: "Ada", isDone: true, amount: 42, color: .blue, note: nil))
        form.apply(try FieldEdit(.trimmed, to: "a b c"))
        #expect(form[.amount] as? Int == 42 && form[.title] as? String == "abc")
        let json = String(decoding: try Editor.actionCoding.encoded(.edit(try edits()[0])), as: UTF8.self)
        #expect(json == #"{"edit":{"_0":{"field":"title","value":"Ada"}}}"#)
    }

    /// Equality is by field and value.
    @Test func editsAreEqualByFieldAndValue() throws {
        let edits = try edits()
        let same = try FieldEdit<Form>(.title, to: "Ada")
        let (otherValue, otherField) = (try FieldEdit<Form>(.title, to: "B"), try FieldEdit<Form>(.trimmed, to: "Ada"))
        #expect(Set(edits).count == edits.count && edits[0] == same)
        #expect(edits[4] == (try FieldEdit<Form>(.note, to: "x")), "a text is an optional text")
        #expect(edits[0] != otherValue && edits[0] != otherField)
        #expect(Set(edits.map(\.contentDigest)).count == edits.count && edits[2].description == "amount = 42")
    }

    /// A value of another type is refused where the edit is made.
    @Test func aValueOfAnotherTypeIsNoEdit() {
        #expect(throws: FieldError.self) { try FieldEdit<Form>(.title, to: 1) }
        #expect(throws: FieldError.self) { try FieldEdit<Form>(.amount, to: "1") }
        #expect(throws: FieldError.self) { try FieldEdit<Form>(.amount, to: 1.0) }
        #expect(throws: FieldError.self) { try FieldEdit<Form>(.isDone, to: 1) }
        #expect(throws: FieldError.self) { try FieldEdit<Form>(.title, to: String?.none) }
    }

    /// A value of another type, an unknown field and a missing value are refused as the action is decoded.
    @Test(arguments: [
        #"{"field":"title","value":1}"#, #"{"field":"amount","value":"1"}"#, #"{"field":"amount","value":1.5}"#,
        #"{"field":"isDone","value":1}"#, #"{"field":"color","value":"green"}"#, #"{"field":"secret","value":1}"#,
        #"{"field":"title","value":null}"#, #"{"field":"title"}"#, #"{"value":"x"}"#, "[]",
    ])
    func whatIsNoEditIsRefused(json: String) {
        let bytes = Array(#"{"edit":{"_0":\#(json)}}"#.utf8)
        #expect(throws: DecodingError.self) { try Editor.actionCoding.decoded(bytes) }
    }

    /// Through the whole way of an action: a wrong type and a refusal of `mutate` are without effect.
    @Test func aRefusedEditHasNoEffect() throws {
        let run = Run(Editor())
        _ = try run.perform([.edit(try FieldEdit(.amount, to: 3))])
        let outcomes = try run.perform([.edit(try FieldEdit(.amount, to: -1)), .edit(try FieldEdit(.title, to: "t"))])
        let reasons = outcomes.map { if case .rejected(let reason, _) = $0 { reason } else { "" } }
        #expect(reasons == ["an amount is not negative", ""])
        #expect(run.state.workingState == Form(title: "t", amount: 3))
    }
}

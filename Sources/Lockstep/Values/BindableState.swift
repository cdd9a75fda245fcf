/// A form in replicated state: its fields are named by an enum of their own, so that an edit of one can be sent.
///
/// A key path cannot be encoded, and would mean another field in another version of the program; a case of an enum is
/// what its `Codable` says. The enum and one `switch` are all that a form needs:
///
/// ```swift
/// struct Profile: Codable, Sendable, BindableState {
///     var name = ""
///     var isPublic = false
///     enum Field: String, Codable, Sendable { case name, isPublic }
///     static func place(of field: Field) -> FieldPlace<Profile> {
///         switch field {
///         case .name: FieldPlace(\.name)
///         case .isPublic: FieldPlace(\.isPublic)
///         }
///     }
/// }
/// // an action or a mutation:
/// case edit(FieldEdit<Profile>)
/// // in reduce:
/// case .edit(let edit): state.profile.apply(edit)
/// // in a view:
/// try await store.send(.edit(FieldEdit(.name, to: "Ada")))
/// ```
///
/// `mutate` may look at the edit first and refuse it, or emit another value.
public protocol BindableState {
    /// The names of the fields, as they are encoded.
    associatedtype Field: Codable & Hashable & Sendable

    /// Where the field's value is; a function of the field only.
    static func place(of field: Field) -> FieldPlace<Self>
}

/// A value that a field may have: texts, numbers, flags, dates, enums, optionals and lists of them.
public typealias FieldValue = Codable & Hashable & Sendable

/// Where a field's value is in a form, and of which type it is; it never leaves the process.
public struct FieldPlace<Form> {
    fileprivate let type: any FieldValue.Type
    fileprivate let get: (Form) -> any FieldValue
    fileprivate let set: (inout Form, any FieldValue) -> Bool

    /// Makes the place of a stored or computed property.
    public init<Value: FieldValue>(_ property: WritableKeyPath<Form, Value>) {
        type = Value.self
        get = { $0[keyPath: property] }
        set = { form, value in
            guard let value = value as? Value else { return false }
            form[keyPath: property] = value
            return true
        }
    }
}

/// Why an edit cannot be: the value is not of the field's type.
public struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The field and both types, for a reader.
    public let description: String
}

/// The change of one field of a form to a value: an action or a mutation, or a part of one.
///
/// A value of a wrong type is refused where the edit is made and where it is decoded, so an action with one is refused
/// before a reactor sees it. Two edits are equal if field and value are.
public struct FieldEdit<Form: BindableState>: Sendable {
    /// Which field.
    public let field: Form.Field
    /// Its new value, of the field's type; `value as? String` looks at it.
    public let value: any FieldValue

    /// Makes an edit; throws ``FieldError`` if the value is not of the field's type.
    public init(_ field: Form.Field, to value: some FieldValue) throws(FieldError) {
        let type = Form.place(of: field).type
        guard let value = Self.typed(value, type) else {
            throw FieldError(description: "\(field) is \(type), not \(Swift.type(of: value))")
        }
        self.field = field
        self.value = value
    }

    /// The value as one of the field's own type, so that a text for an optional text is the same however it came.
    private static func typed<Value: FieldValue>(_ value: any FieldValue, _ type: Value.Type) -> (any FieldValue)? {
        (value as? Value).map { $0 }
    }
}

extension BindableState {
    /// Sets the field to the edit's value; the cost of the property's setter.
    ///
    /// - Returns: Whether the value is of the field's type. It is, unless ``place(of:)`` gives another type now than
    ///   when the edit was made; then nothing is changed.
    @discardableResult
    public mutating func apply(_ edit: FieldEdit<Self>) -> Bool { Self.place(of: edit.field).set(&self, edit.value) }

    /// The field's value.
    public subscript(field: Field) -> any FieldValue { Self.place(of: field).get(self) }
}

extension FieldEdit: Hashable {
    /// Whether both have the same field and equal values.
    public static func == (left: Self, right: Self) -> Bool {
        left.field == right.field && AnyHashable(left.value) == AnyHashable(right.value)
    }

    /// Takes the field and the value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(field)
        hasher.combine(AnyHashable(value))
    }
}

extension FieldEdit: Codable {
    private enum CodingKeys: String, CodingKey {
        case field, value
    }

    /// Encodes `field` and `value`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(field, forKey: .field)
        try container.encode(value, forKey: .value)
    }

    /// Decodes a field and a value of its type; anything else is refused.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        field = try container.decode(Form.Field.self, forKey: .field)
        func decode<Value: FieldValue>(_ type: Value.Type) throws -> any FieldValue {
            try container.decode(type, forKey: .value)
        }
        value = try decode(Form.place(of: field).type)
    }
}

extension FieldEdit: Digestible {}

extension FieldEdit: CustomStringConvertible {
    /// The field and its new value.
    public var description: String { "\(field) = \(value)" }
}

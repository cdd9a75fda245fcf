internal import Foundation
internal import LockstepCore
internal import ZeroMQ

// The JSON form. What it does not know it refuses: a field that is written wrong must not be a rule that is not there.
extension AccessList: Codable {
    /// The version of the form that is written and read.
    private static let version = 1

    /// Reads the list as ``encode(to:)`` writes it, and checks it.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, of: "the access list", known: ["version", "cluster", "entries"])
        let version = try fields.value(Int.self, "version")
        guard version == Self.version else {
            throw Self.refusal("it has version \(version), and this program reads version \(Self.version)")
        }
        let cluster = try fields.optional(String.self, "cluster").map { text in
            guard let cluster = ClusterID(hexadecimal: text) else {
                throw Self.refusal("\"\(AccessText.escaped(text))\" is no cluster's ID of 32 hexadecimal digits")
            }
            return cluster
        }
        try self.init(fields.value([Entry].self, "entries"), cluster: cluster)
    }

    /// Writes version, cluster and entries, these sorted by name; a list has one form.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: FieldName.self)
        try fields.encode(Self.version, forKey: "version")
        try fields.encodeIfPresent(cluster.map { "\($0)" }, forKey: "cluster")
        try fields.encode(entries, forKey: "entries")
    }

    /// Reads the text of a list.
    ///
    /// - Parameter text: JSON in UTF-8.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, with one line that says what to change.
    public init(json text: [UInt8]) throws {
        do { self = try JSONDecoder().decode(AccessList.self, from: Data(text)) } catch let error as LockstepError {
            throw error
        } catch {
            throw LockstepError(
                .invalidConfiguration, "the access list cannot be read: \(AccessFile.line(of: error))",
                underlying: error)
        }
    }

    /// The text of the list: JSON, the same for the same list, with a line break at its end.
    public var json: [UInt8] {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            return try Array(encoder.encode(self)) + [UInt8(ascii: "\n")]
        }
    }
}

extension AccessList.Entry: Codable {
    /// Reads an entry as ``encode(to:)`` writes it; an unknown field, role or key is refused.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(
            decoder, of: "an entry of the access list",
            known: ["name", "keys", "roles", "stores", "actions", "quota", "address"])
        let name = try fields.value(String.self, "name")
        let label = AccessText.escaped(name)
        let keys = try fields.value([String].self, "keys").map { text in
            guard let key = CurvePublicKey(z85: text) else {
                throw AccessList.refusal(
                    "\"\(AccessText.escaped(text))\" of \(label) is no public key of 40 characters")
            }
            return key
        }
        let roles = try fields.value([String].self, "roles").map { text in
            guard let role = AccessRole(rawValue: text) else {
                throw AccessList.refusal(
                    "\"\(AccessText.escaped(text))\" of \(label) is no role; choose of \(AccessRole.namesInOrder)")
            }
            return role
        }
        let stores = try fields.optional([String].self, "stores")
        let actions = try fields.optional([String: [String]].self, "actions") ?? [:]
        let kinds = actions.sorted { $0.key < $1.key }.map { ($0.value, "kind of action") }
        for (values, what) in [(roles.map(\.rawValue), "role"), (stores ?? [], "store")] + kinds
        where Set(values).count != values.count {
            throw AccessList.refusal("\(label) has a \(what) twice")
        }
        self.init(
            name: name, keys: keys, roles: Set(roles), stores: stores.map { Set($0) },
            actions: actions.mapValues { Set($0) }, quota: try Self.quota(fields, of: label),
            address: try fields.optional(String.self, "address"))
    }

    private static func quota(_ fields: StrictFields, of label: String) throws -> AccessQuota {
        guard let values = try fields.optional([String: Int].self, "quota") else { return AccessQuota() }
        let known = AccessQuota.names
        if let unknown = values.keys.filter({ !known.contains($0) }).min() {
            throw AccessList.refusal(
                "the quota of \(label) has the field \"\(AccessText.escaped(unknown))\"; choose of "
                    + known.joined(separator: ", "))
        }
        return AccessQuota(limits: values.map { ($0.key, $0.value) })
    }

    /// Writes the fields; roles and stores are sorted, the keys stay in their order.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: FieldName.self)
        try fields.encode(name, forKey: "name")
        try fields.encode(keys.map(\.z85), forKey: "keys")
        try fields.encode(roles.sorted().map(\.rawValue), forKey: "roles")
        try fields.encodeIfPresent(stores?.sorted(), forKey: "stores")
        if !actions.isEmpty { try fields.encode(actions.mapValues { $0.sorted() }, forKey: "actions") }
        if quota != AccessQuota() { try fields.encode(quota, forKey: "quota") }
        try fields.encodeIfPresent(address, forKey: "address")
    }
}

/// The name of a field, known or not.
private struct FieldName: CodingKey, ExpressibleByStringLiteral {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init(stringLiteral value: String) { stringValue = value }
    init?(intValue: Int) { nil }
}

/// The fields of an object, none of which is unknown.
private struct StrictFields {
    private let container: KeyedDecodingContainer<FieldName>
    private let owner: String

    init(_ decoder: any Decoder, of owner: String, known: Set<String>) throws {
        container = try decoder.container(keyedBy: FieldName.self)
        self.owner = owner
        guard let unknown = container.allKeys.map(\.stringValue).filter({ !known.contains($0) }).min() else { return }
        throw AccessList.refusal(
            "\(owner) has the field \"\(AccessText.escaped(unknown))\"; choose of \(known.sorted().joined(separator: ", "))"
        )
    }

    func value<Value: Decodable>(_ type: Value.Type, _ name: FieldName) throws -> Value {
        guard container.contains(name) else {
            throw AccessList.refusal("\(owner) has no field \"\(name.stringValue)\"")
        }
        return try container.decode(type, forKey: name)
    }

    func optional<Value: Decodable>(_ type: Value.Type, _ name: FieldName) throws -> Value? {
        guard container.contains(name) else { return nil }
        return try container.decode(type, forKey: name)
    }
}

// There only with the package trait Macros, as `@WireCodable` is.

#if Macros
    /// Makes a struct or an enum ``Digestible``: writes ``Digestible/contentDigest`` for it.
    ///
    /// ```swift
    /// @WireCodable @Digestible
    /// struct Account: Codable, Sendable {
    ///     var owner: String
    ///     var balance: Int64
    ///     @WireAdded var note: String = ""
    /// }
    /// // in the state:
    /// var accounts: ReplicatedMap<UInt64, Account> = [:]
    /// ```
    ///
    /// It is there with the package trait `Macros`. The types of all fields and values must be ``Digestible``, as generic
    /// arguments must be. It costs two multiplications a field beside the digests of the fields themselves; nothing is
    /// encoded, as it is for a type that only names the protocol.
    ///
    /// Fields and cases are those of ``WireCodable(frozen:)``: stored properties in their order, cases by their numbers.
    /// A field that is marked ``WireAdded()`` counts only where it has not its initial value, so that an older program,
    /// which has no such field, computes the same digest until somebody writes it. Anything else that changes the order
    /// or the types of fields changes the digest: all nodes of a cluster must compute it alike.
    ///
    /// Classes are refused when the program is built; so are lazy properties and fields inside of `#if`. An initial value
    /// of an added field that names a type next to this one must name it in full: `Orders.Size.small`.
    @attached(extension, conformances: Digestible, names: named(contentDigest))
    public macro Digestible() = #externalMacro(module: "LockstepMacros", type: "DigestibleMacro")

    // What the macro's code calls.

    extension Digest {
        /// Begins the digest of a struct that had so many fields in its first version.
        @inlinable
        public init(fields: Int) { self = .pair(.objectMark, fields.contentDigest) }

        /// Begins the digest of an enum's case.
        @inlinable
        public init(case number: Int) { self = .pair(.caseMark, number.contentDigest) }

        /// Goes on with the next value.
        @inlinable
        public mutating func add(_ value: some Digestible) { self = .pair(self, value.contentDigest) }

        /// Goes on with the field of this number, from 1, unless it has its initial value.
        @inlinable
        public mutating func add<Value: Digestible>(_ value: Value, field number: Int, unless initial: Value) {
            let content = value.contentDigest
            guard content != initial.contentDigest else { return }
            self = .pair(.pair(self, number.contentDigest), content)
        }
    }
#endif

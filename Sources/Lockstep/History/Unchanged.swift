/// "Only if it is as I saw it": a condition that travels with an action and is decided on the primary.
///
/// The sender says up to where it had seen the log; the state says when the part in question changed last, because its
/// reducer writes that down. `mutate` compares the two against the authoritative state, in the same step in which the
/// action commits, so of two senders that saw the same, one gets through:
///
///     enum Action: Codable, Sendable { case rename(String, Unchanged?) }
///     // in mutate:
///     case .rename(let title, let condition):
///         try condition?.check(context.state.titleChanged, "the title")
///         return .emit(.renamed(title))
///     // in reduce:
///     case .renamed(let title):
///         state.title = title
///         state.titleChanged = context.place
///     // the sender:
///     let seen = store.snapshot
///     try await store.send(.rename(edited(seen.state.title), Unchanged(since: seen)))
///
/// A part that is written down more finely (an element, a field) refuses less; one place for the whole state refuses
/// whenever anything changed. It does not notice that an operator accepted the loss of entries, where the sender had
/// seen one of those and the part has not changed since in what is left.
public struct Unchanged: Hashable, Sendable, Codable {
    /// The last entry that the sender had seen.
    public let since: Place

    /// Demands that nothing changed after an entry.
    public init(since place: Place) { since = place }

    /// Demands that nothing changed after a state.
    public init<State>(since snapshot: Snapshot<State>) { since = snapshot.place }

    /// Refuses if the part changed after what the sender had seen.
    ///
    /// - Parameters:
    ///   - changed: The entry that changed the part last; ``Place/start`` if none has.
    ///   - what: What to call it in the reason.
    /// - Throws: ``Rejection``.
    public func check(_ changed: Place, _ what: String = "it") throws {
        guard changed <= since else {
            throw Rejection("\(what) was changed at \(changed), and the sender had seen the log up to \(since)")
        }
    }

    /// Refuses if a value that is versioned by sequence numbers (``Versioned/init(_:at:)``) changed.
    ///
    /// Sequence numbers go on over epochs, except where an operator accepted a loss.
    ///
    /// - Throws: ``Rejection``.
    public func check<Value>(_ value: Versioned<Value>, _ what: String = "it") throws {
        guard value.version <= since.sequence.rawValue else {
            throw Rejection(
                "\(what) was changed at \(value.version), and the sender had seen the log up to \(since)")
        }
    }
}

extension ReduceContext {
    /// The entry's place, to be written down as the last change of a part; see ``Unchanged``.
    public var place: Place { Place(epoch: epoch, sequence: sequence) }
}

/// An action with an optional ``Unchanged``: for a reactor that offers the condition for all its actions.
///
///     typealias Action = Guarded<Command>
///     func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
///         switch try action.get(context.state.changed) { … }
///     }
public struct Guarded<Action: Codable & Sendable>: Codable, Sendable {
    /// What to do.
    public let action: Action
    /// Under which condition; nil is under any.
    public let condition: Unchanged?

    /// Wraps an action.
    public init(_ action: Action, onlyIf condition: Unchanged? = nil) {
        self.action = action
        self.condition = condition
    }

    /// The action, if the condition holds for a part that changed last at this entry.
    ///
    /// - Throws: ``Rejection``.
    public func get(_ changed: Place, _ what: String = "the state") throws -> Action {
        try condition?.check(changed, what)
        return action
    }
}

extension Guarded: Equatable where Action: Equatable {}
extension Guarded: Hashable where Action: Hashable {}

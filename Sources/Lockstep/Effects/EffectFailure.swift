public import LockstepCore

/// Something of the user's that failed beside the log: an effect, a feedback, or an external source.
///
/// It ends nothing but itself. See ``Store/failures(bufferLimit:)``.
public struct EffectFailure: Error, Sendable, CustomStringConvertible {
    /// What failed.
    public enum Origin: Hashable, Sendable {
        /// The effect of an accepted action; its sender gets the outcome `failed` too.
        case action(RunID)
        /// A feedback, by its name, and which of its requests.
        case feedback(String, request: String)
        /// An external source, by its name.
        case source(String)
    }

    /// What failed.
    public let origin: Origin
    /// Why.
    public let error: any Error

    /// One line.
    public var description: String {
        switch origin {
        case .action(let id): "the effect of action \(id) failed: \(error)"
        case .feedback(let name, let request): "feedback \(name) failed for \(request): \(error)"
        case .source(let name): "source \(name) failed: \(error)"
        }
    }
}

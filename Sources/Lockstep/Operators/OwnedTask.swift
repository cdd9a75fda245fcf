/// The one task that has no parent: it runs beside a consumer which is not suspended all the time.
///
/// An operator that waits for its source and for a clock at once must go on waiting for the source while its consumer
/// works on a value, and a call of `next()` can hold no task beyond its own end. So the iterator owns this task: it
/// starts with the first `next()`, its end is awaited before `next()` says that the sequence is over, and it is
/// cancelled when the iterator goes away. Nothing else in this library may start a task without a parent.
struct OwnedTask: Sendable {
    private let task: Task<Void, Never>

    /// Starts it where the caller's children would run.
    init(_ body: @escaping @Sendable @concurrent () async -> Void) {
        if #available(macOS 26.4, *) {
            let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
            task = Task(executorPreference: executor, operation: body)
        } else {
            task = Task(operation: body)
        }
    }

    func cancel() { task.cancel() }

    /// Waits until it has ended; it must be told to end before.
    func end() async { await task.value }
}

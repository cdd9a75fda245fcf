/// What one event of a primary's machine happens with: the clocks at that time, the state, and what is to be done for it.
///
/// One value goes through everything that an event brings about, instead of four arguments. It lives as long as the
/// event: ``PrimaryStateMachine/step(now:wall:state:into:_:)`` makes it.
package struct PrimaryStep {
    /// The two clocks, read once for an event.
    struct Moment {
        let now: Tick
        let wall: LogTime
    }

    let moment: Moment
    let state: any ReplicatedState
    /// In the order in which they are to be executed.
    var directives: [PrimaryDirective]

    var now: Tick { moment.now }
    var wall: LogTime { moment.wall }
}

extension PrimaryStateMachine {
    /// Lets the machine take one event at this moment; what it wants done is appended to `directives`.
    ///
    ///     machine.step(now: now, wall: wall, state: state, into: &directives) { $0.received(frame, from: peer, &$1) }
    ///
    /// The list is moved into the step and back, since a copy of it would cost an allocation for each event.
    @inline(__always)
    package mutating func step<Result>(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective],
        _ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Result
    ) -> Result {
        var step = PrimaryStep(moment: .init(now: now, wall: wall), state: state, directives: [])
        swap(&step.directives, &directives)
        defer { swap(&step.directives, &directives) }
        let result = event(&self, &step)
        checkEvent()
        return result
    }
}

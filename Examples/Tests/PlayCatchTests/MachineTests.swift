import Lockstep
import LockstepTesting
import PlayCatch
import Testing

/// The machine, in virtual time.
struct MachineTests {
    /// The machine holds the ball for its delay, and throws it back once.
    @Test func theMachineThrowsBackAfterItsDelay() {
        let game = TestStore(PlayCatch(delay: .seconds(1)))
        game.send(.throwBall) {
            $0.holder = .machine
            $0.humanThrows = 1
        }
        game.send(.throwBall, rejected: "the machine has the ball")
        game.advance(by: .milliseconds(999))
        game.advance(by: .milliseconds(1))
        game.receive(.machineThrew(answering: 1)) {
            $0.holder = .human
            $0.machineThrows = 1
        }
        game.advance(by: .seconds(10))
        game.finish()
    }

    /// A primary that ends with the ball in its hand is followed by one that throws it, after a delay of its own.
    @Test func theNextPrimaryThrows() {
        let game = TestStore(PlayCatch(delay: .seconds(1)))
        game.send(.throwBall) {
            $0.holder = .machine
            $0.humanThrows = 1
        }
        game.advance(by: .milliseconds(900))
        game.restart()
        game.advance(by: .seconds(1))
        game.receive(.machineThrew(answering: 1)) {
            $0.holder = .human
            $0.machineThrows = 1
        }
        game.advance(by: .seconds(10))
        game.finish()
    }

    /// All nodes come to the same state.
    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(of: PlayCatch(), actions: [.throwBall, .throwBall])
    }
}

import Lockstep
import NodeTesting
import PlayCatch
import Testing

/// The program `play-catch`, killed for real.
@Suite(.timeLimit(.minutes(5))) struct KillTests {
    /// A machine that is killed with the ball in its hand throws it once it is started again, exactly once.
    @Test func aKilledMachineThrowsTheBallExactlyOnce() async throws {
        try await withTemporaryFolder { folder in
            let address = try freeAddress()
            @Sendable func serve(delay: Int) throws -> ChildProcess {
                try ChildProcess(
                    "play-catch", "serve", "--data", folder + "/journal", "--listen", address, "--delay", "\(delay)")
            }
            let node = try Node(.replica(of: address))
            let game = try node.store(PlayCatch(), named: "play-catch")
            try await withRunning(node) {
                // The first machine would hold the ball for an hour.
                let first = try serve(delay: 3_600_000)
                try await game.whenReady()
                _ = try await game.send(.throwBall)
                first.kill()

                let second = try serve(delay: 100)
                let back = try await state(of: game) { $0.holder == .human && $0.humanThrows == 1 }
                #expect(back.machineThrows == 1)

                // A second answer to the first throw would be counted by now.
                _ = try await game.send(.throwBall)
                let again = try await state(of: game) { $0.holder == .human && $0.humanThrows == 2 }
                #expect(again.machineThrows == 2)
                #expect(second.terminate() == 0)
            }
        }
    }

    /// The program refuses what makes no sense, and says so by its exit status.
    @Test func aWrongAddressIsRefused() throws {
        let program = try ChildProcess("play-catch", "throw", "--primary", "nonsense")
        #expect(program.exitStatus() != 0)
    }
}

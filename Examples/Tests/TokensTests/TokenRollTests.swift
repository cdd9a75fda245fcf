import LockstepTesting
import Testing

@testable import Tokens

@Suite struct TokenRollTests {
    @Test func theNumbersFollowEachOther() {
        spec(TokenRoll())
            .given(TokenRoll.State(taken: 7))
            .when(.take)
            .then(.emits(.taken), .replies(8), .state { $0.taken = 8 })
    }

    @Test func aNumberIsNotGivenAgainAfterThePrimarysDeath() throws {
        let cluster = TestCluster(TokenRoll(), replicas: 2)
        #expect(try cluster.send(.take) == 1)
        cluster.kill(.primary)
        cluster.restart(.primary)
        #expect(try cluster.send(.take) == 2)
    }
}

import Counters
import Foundation
import Lockstep
import LockstepFolders
import LockstepNode

/// What is written as JSON: users' types, operators' requests, and the program's own answers and files.
enum JSONTarget {
    enum Mode: UInt8, CaseIterable {
        case action, mutation, reply, query, answer, state, request, status, identity
    }

    // Made once: a coding of JSON has a coder in each direction, which takes as long to make as a value to read.
    private static let action = Coding<Counters.Action>.json
    private static let mutation = Coding<Counters.Mutation>.json
    private static let reply = Coding<Counters.Reply>.json
    private static let query = Coding<Counters.Query>.json
    private static let answer = Coding<Counters.Answer>.json
    private static let state = Coding<Counters.State>.json
    private static let status = Coding<NodeStatus>.json
    private static let decoder = JSONDecoder()

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let mode = Mode(rawValue: input.byte() % UInt8(Mode.allCases.count)) ?? .action
        let bytes = input.rest()
        switch mode {
        case .action: try PayloadTarget.check(action, isCanonical: false, bytes, checks)
        case .mutation: try PayloadTarget.check(mutation, isCanonical: false, bytes, checks)
        case .reply: try PayloadTarget.check(reply, isCanonical: false, bytes, checks)
        case .query: try PayloadTarget.check(query, isCanonical: false, bytes, checks)
        case .answer: try PayloadTarget.check(answer, isCanonical: false, bytes, checks)
        case .state: try PayloadTarget.check(state, isCanonical: false, bytes, checks)
        case .request: try request(bytes, checks)
        case .status: try PayloadTarget.check(status, isCanonical: false, bytes, checks)
        case .identity: _ = try? decoder.decode(NodeFolder.Identity.self, from: Data(bytes))  // Refused.
        }
    }

    private static func request(_ bytes: [UInt8], _ checks: Checks) throws(FuzzFinding) {
        var asked: AdministrationServer.Request?
        let answer = AdministrationServer.answer(to: bytes) { request in
            asked = request
            return Data("{}".utf8)
        }
        // An answer without an error is the answer to a request.
        try checks.same(answer == Data("{}".utf8), asked != nil, "an administration answer")
        guard asked == nil else { return }
        let problem = try? decoder.decode([String: String].self, from: answer)
        try checks.holds(problem?["error"] != nil, "a refusal without the key error")
    }
}

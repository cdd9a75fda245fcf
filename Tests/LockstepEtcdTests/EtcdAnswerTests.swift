#if Etcd
    import Foundation
    import LockstepCore
    import LockstepEtcd
    import LockstepNode
    import Testing

    /// What is made of answers that no etcd gives, or not to this question: nothing that was not said (PROTOCOL, R-76).
    @Suite(.timeLimit(.minutes(2))) struct EtcdAnswerTests {
        private static let header = #""header":{"cluster_id":"1","member_id":"2","revision":"9","raft_term":"2"}"#

        private static func http(_ body: String, _ status: String = "200 OK") -> String {
            "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }

        @concurrent private static func withAnswer<Result: Sendable>(
            _ answer: String, _ example: ArbiterExample,
            _ body: @concurrent (EtcdArbiter) async throws -> Result
        ) async throws -> Result {
            try await Proxy.with(to: 1, .answers(answer)) { proxy in
                let arbiter = try EtcdArbiter(EtcdConfiguration(endpoints: [proxy.endpoint]), cluster: example.cluster)
                let result: Result
                do { result = try await body(arbiter) } catch {
                    await arbiter.close()
                    throw error
                }
                await arbiter.close()
                return result
            }
        }

        private static func value(_ record: ConfigurationRecord) -> String {
            #"{"key":"YQ==","mod_revision":"4","value":""# + Data(record.bytes).base64EncodedString() + "\"}"
        }

        @concurrent private static func hasAnswer(_ answer: String, in example: ArbiterExample) async throws
            -> StoredRecord?
        {
            try await withAnswer(answer, example) { try await $0.record(of: example.store, within: .seconds(10)) }
        }

        /// An answer with a header and nothing else says that there is no record; a record is read, its revision too.
        @Test func whatEtcdSaysIsRead() async throws {
            let example = ArbiterExample()
            #expect(try await Self.hasAnswer(Self.http("{\(Self.header)}"), in: example) == nil)
            let record = example.record()
            for revision in ["\"4\"", "4"] {
                let value = Self.value(record).replacing("\"4\"", with: revision)
                let read = try await Self.hasAnswer(Self.http("{\(Self.header),\"kvs\":[\(value)]}"), in: example)
                #expect(read == StoredRecord(record, revision: 4))
            }
        }

        /// Anything else is no record that is missing, but an answer that says nothing.
        @Test(arguments: [
            http("{}"), http(""), http("[]"), http("<html>Not here</html>"), http("{\"header\":{}}"),
            http("{\(header),\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"4\",\"value\":\"YQ==\"}]}"),
            http("{\(header),\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"4\"}]}"),
            http("{\(header),\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"x\",\"value\":\"YQ==\"}]}"),
            http("{\(header)}" + String(repeating: " ", count: 5_000_000)),
            http("{\(header)}", "503 Service Unavailable"), http("{\"error\":\"no leader\",\"code\":14}", "503 x"),
            "HTTP/1.1 307 Temporary\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", "nonsense\r\n\r\n",
        ]) func anAnswerThatIsNotEtcdsIsAnError(answer: String) async throws {
            let example = ArbiterExample()
            try await Self.withAnswer(answer, example) { arbiter in
                await #expect(throws: ArbiterError.self) {
                    try await arbiter.record(of: example.store, within: .seconds(2))
                }
                await #expect(throws: ArbiterError.self) { try await arbiter.channels(within: .seconds(2)) }
                await #expect(throws: ArbiterError.self) {
                    try await arbiter.register(ArbiterExample.address(1), within: .seconds(2))
                }
                let attempt = example.adding(2, to: StoredRecord(example.record(), revision: 3))
                let outcome = await arbiter.transact(attempt, on: example.store, within: .seconds(2))
                guard case .unknown = outcome else {
                    Issue.record("\(outcome) of \(answer.prefix(200))")
                    return
                }
            }
        }

        /// A record that belongs to another store, or was damaged, settles nothing, and is not taken for a missing one.
        @Test func aForeignRecordSettlesNothing() async throws {
            let example = ArbiterExample()
            let foreign = Self.value(example.record(of: "another"))
            let answer = Self.http("{\(Self.header),\"responses\":[{\"response_range\":{\"kvs\":[\(foreign)]}}]}")
            let attempt = example.adding(2, to: StoredRecord(example.record(), revision: 3))
            let outcome = try await Self.withAnswer(answer, example) {
                await $0.transact(attempt, on: example.store, within: .seconds(10))
            }
            guard case .unknown(let text) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(text.contains("under the name of the store orders"))
        }

        /// A transaction is applied or refused only if its answer has the parts of that branch.
        @Test func aTransactionsAnswerHasTheParts() async throws {
            let example = ArbiterExample()
            let record = example.record()
            let attempt = example.adding(2, to: StoredRecord(record, revision: 3))
            let (put, range) = (#"{"response_put":{}}"#, #"{"response_range":{"kvs":[\#(Self.value(record))]}}"#)
            func outcome(_ content: String) async throws -> AttemptOutcome {
                try await Self.withAnswer(Self.http("{\(Self.header)\(content)}"), example) {
                    await $0.transact(attempt, on: example.store, within: .seconds(10))
                }
            }
            #expect(try await outcome(#","succeeded":true,"responses":[\#(put)]"#) == .applied(revision: 9))
            let there = StoredRecord(record, revision: 4)
            #expect(try await outcome(#","responses":[\#(range)]"#) == .refused(there))
            #expect(try await outcome(#","succeeded":false,"responses":[\#(range)]"#) == .refused(there))
            #expect(try await outcome(#","responses":[{"response_range":{}}]"#) == .refused(nil))
            for content in [
                "", #","succeeded":true"#, #","succeeded":true,"responses":[\#(range)]"#, #","responses":[\#(put)]"#,
                #","responses":[\#(range),\#(range)]"#, #","succeeded":false"#, #","responses":[{}]"#,
            ] {
                guard case .unknown = try await outcome(content) else {
                    Issue.record("an outcome was made of \(content)")
                    continue
                }
            }
        }

        /// A stream that ends, reports an error or is no stream of etcd's is no watch.
        @Test(arguments: [
            http("{}\n"), http("{\"error\":{\"message\":\"no\"}}\n"), http("\n"), http("x\n"),
            http("{\"result\":{\(header),\"canceled\":true,\"cancel_reason\":\"compacted\"}}\n"),
            http("{\"result\":{\(header),\"created\":true}}\n"), http("{\"result\":{\(header)}}\n"),
            http(String(repeating: " ", count: 2_000_000) + "\n"), http("{\"error\":\"no\"}", "400 Bad Request"),
        ]) func aStreamThatIsNoWatchIsAnError(answer: String) async throws {
            let example = ArbiterExample()
            try await Self.withAnswer(answer, example) { arbiter in
                _ = await #expect(throws: ArbiterError.self) {
                    try await arbiter.watch(for: .seconds(60), within: .seconds(10)) { _ in }
                }
            }
        }

        /// Lines are found wherever the pieces were cut, and one that is too long is an error.
        @Test func linesAreFoundWhereverTheyAreCut() throws {
            let text = Array("one\n\ntwo three\nfour".utf8)
            for first in 0...text.count {
                for second in first...text.count {
                    var splitter = LineSplitter(atMost: 9)
                    var lines: [Data] = []
                    for piece in [text[..<first], text[first..<second], text[second...]] {
                        lines += try splitter.split(piece)
                    }
                    #expect(lines == [Data("one".utf8), Data("two three".utf8)])
                }
            }
            var splitter = LineSplitter(atMost: 8)
            #expect(throws: ArbiterError.self) { try splitter.split(text) }
        }
    }
#endif

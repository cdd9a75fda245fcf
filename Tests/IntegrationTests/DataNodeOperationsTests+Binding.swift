#if Etcd
    import Foundation
    import LockstepHarness
    import Testing

    /// What an operator does when etcd was set back or lost, by docs/FAILOVER.md.
    extension IntegrationTests.DataNodeOperationsTests {
        /// Goal: an etcd that was set back, or has lost everything and its address, is not believed until an operator
        /// says that it holds; then nothing is lost (PROTOCOL R-81).
        @Test(arguments: [true, false]) func anEtcdThatWasSetBackIsBoundAgain(hasCopy: Bool) async throws {
            try await withNodes(3) { nodes in
                try await start(nodes, [0, 1, 2])
                if hasCopy { try await nodes.copyEtcd() }
                try await nodes.waitUntilWell()
                #expect(try add(nodes.endpoint(0)) == "1")
                // All of them see a later epoch than the copy has.
                let first = try #require(try nodes.primary())
                _ = try await giveAway("handover", "--data", nodes.data(first))
                try await nodes.waitUntilWell()
                #expect(try add(nodes.endpoint(first)) == "2")
                for index in 0..<3 { nodes.end(index, SIGKILL) }
                try await nodes.setBackEtcd(hasCopy: hasCopy)
                for index in 0..<3 { try nodes.start(index) }
                try await waitUntilListed(nodes)
                if hasCopy {
                    // What they write would make the old copy look newest (PROTOCOL R-75).
                    for words in [["minimum", "1"], ["remove", "node-7"], ["promote", "--accept-loss"]] {
                        let run = try ChildProcess.run(
                            Bench.program, ["cluster"] + words + ["--data", nodes.data(0)])
                        #expect(run.status == 1 && run.errors.contains("run \"cluster rebind\" first"), "\(run)")
                    }
                }
                // All were started anew, so only an old record has the minimum.
                let minimum = hasCopy ? [] : ["--minimum", "2"]
                // Which one has the most of a store is said by the command; what is bound on one host is bound.
                try await Bench.wait("all stores to be bound") {
                    try (0..<3).contains { index in
                        let asked = try rebind(nodes, index, minimum)
                        if asked.status == 0 { return true }
                        let isElsewhere = ["has more of", "has what was acknowledged"].contains(
                            where: asked.errors.contains)
                        #expect(asked.status == 64 || isElsewhere, "\(asked)")
                        guard asked.status == 64 else { return false }
                        #expect(asked.errors.contains("say --yes"))
                        if !hasCopy { #expect(try rebind(nodes, index).errors.contains("say it with --minimum N")) }
                        let said = try rebind(nodes, index, minimum + ["--yes"])
                        #expect(said.output.contains("node-\(index) is the primary of "))
                        #expect(said.output.contains("; minimum 2"))
                        #expect(said.status == 0 || said.errors.contains("run this on that host"), "\(said)")
                        return said.status == 0
                    }
                }
                try await nodes.waitUntilWell()
                for index in 0..<3 { #expect(try add(nodes.endpoint(index)) == "\(3 + index)") }
                let again = try rebind(nodes, 0, ["--yes"])
                #expect(again.status == 0 && again.output.contains("nothing is to be done"), "\(again)")
            }
        }

        private func rebind(_ nodes: DataNodeProcesses, _ index: Int, _ more: [String] = []) throws -> (
            status: Int32, output: String, errors: String
        ) {
            try ChildProcess.run(Bench.program, ["cluster", "rebind", "--data", nodes.data(index)] + more)
        }

        private func waitUntilListed(_ nodes: DataNodeProcesses) async throws {
            try await Bench.wait("all to be listed") {
                let listed = try nodes.done("cluster", "members", "--data", nodes.data(0), "--json")
                return (0..<3).allSatisfy { listed.contains(nodes.endpoint($0)) }
            }
        }

        /// Goal: stores that two nodes lead are bound by what the command says, each on its host (PROTOCOL R-81).
        @Test func storesOfTwoPrimariesAreBoundAgain() async throws {
            // A primary that hears nobody for 2.6 s gives up beside an etcd that was set back.
            try await undisturbed(tries: 2) { try await withNodes(3) { try await bindTwo($0) } }
        }

        private func bindTwo(_ nodes: DataNodeProcesses) async throws {
            try await start(nodes, [0, 1, 2])
            try await nodes.copyEtcd()
            try await nodes.waitUntilWell()
            // Each store gets a later epoch than the copy has, at a node of its own.
            func moved(_ store: String, besides other: Int?) async throws -> Int {
                let from = try #require(try nodes.primary(of: store))
                let to = try #require((0..<3).first { $0 != from && $0 != other })
                _ = try await giveAway("handover", "--data", nodes.data(from), store, "--to", "node-\(to)")
                try await nodes.waitUntilWell()
                // Who has the post may have no epoch yet, and then loses it to an etcd that was set back.
                for index in 0..<3 { _ = try nodes.done("status", "--data", nodes.data(index), "--wait", "30") }
                return try #require(try nodes.primary(of: store))
            }
            let counters = try await moved("counters", besides: nil)
            let search = try await moved("search", besides: counters)
            try Disturbed.unless(counters != search, "node-\(search) leads both")
            #expect(try add(nodes.endpoint(counters)) == "1")
            try await nodes.setBackEtcd(hasCopy: true)
            try await waitUntilListed(nodes)
            // A standby may lack the last entry, and then says that the other has more.
            func isSent(_ errors: String, to index: Int, for store: String) -> Bool {
                Bench.lines(errors).contains {
                    $0.contains("node-\(index) ") && $0.contains(" \(store)") && $0.hasSuffix("run this on that host")
                }
            }
            for command in [[], ["--yes"]] {
                let idle = try rebind(nodes, 3 - counters - search, command)
                try Disturbed.unless(isSent(idle.errors, to: counters, for: "counters"), "\(idle)")
                try Disturbed.unless(isSent(idle.errors, to: search, for: "search"), "\(idle)")
                #expect(idle.status == 1, "\(idle)")
            }
            let asked = try rebind(nodes, counters)
            try Disturbed.unless(isSent(asked.errors, to: search, for: "search"), "\(asked)")
            #expect(asked.status == 64 && asked.errors.contains("say --yes to go on"), "\(asked)")
            let first = try rebind(nodes, counters, ["--yes"])
            try Disturbed.unless(isSent(first.errors, to: search, for: "search"), "\(first)")
            #expect(first.status == 1, "\(first)")
            #expect(first.output.contains("node-\(counters) is the primary of counters in epoch "), "\(first)")
            let second = try rebind(nodes, search, ["--yes"])
            #expect(second.status == 0, "\(second)")
            #expect(second.output.contains("node-\(search) is the primary of search in epoch "), "\(second)")
            try await nodes.waitUntilWell()
            for index in 0..<3 { #expect(try add(nodes.endpoint(index)) == "\(2 + index)") }
        }
    }
#endif

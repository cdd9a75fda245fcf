#if Etcd
    import Foundation
    import LockstepFolders
    import LockstepNode

    /// What a running data node is asked about a store's post, and told.
    struct PostRequest: Encodable {
        var command: String
        var store: String
        var to: String?
        var look: PostLook?

        /// What it knows.
        static func post(_ store: String, after look: PostLook? = nil) -> PostRequest {
            PostRequest(command: "post", store: store, to: nil, look: look)
        }
    }

    /// Posts that are given away side by side, each to one node or to any member (PROTOCOL, R-90).
    struct Handovers {
        /// Asks the primary, as ``OrderedNode`` and ``NodeFolder`` do.
        let ask: (PostRequest) async throws -> Data

        /// How often the primary is asked how far it is, and how long it may take.
        private static let pause = Duration.milliseconds(20)
        private static let patience = Duration.seconds(10)
        /// How long it is asked for all of them, while what stands in the way may pass.
        private static let patienceToBegin = Duration.seconds(3)

        func post(of store: String, after look: PostLook? = nil) async throws -> StorePost {
            try JSONDecoder().decode(StorePost.self, from: try await ask(.post(store, after: look)))
        }

        /// Gives all of them away, and prints how each ended.
        ///
        /// - Throws: ``CommandFailure`` if a post stayed where it was, or that is not known, after the others were given away.
        func run(_ orders: [(store: String, to: String?)]) async throws {
            var begun: [String] = []
            var problems: [CommandFailure] = []
            let end = ContinuousClock.now + Self.patienceToBegin
            for order in orders {
                do {
                    try await begin(order.store, to: order.to, until: end)
                    begun.append(order.store)
                } catch { problems.append(try failure(error)) }
            }
            for store in begun {
                do { Output.line(try await self.end(of: store)) } catch { problems.append(try failure(error)) }
            }
            guard var last = problems.popLast() else { return }
            for problem in problems { Output.error(problem.message) }
            // Where it is known for one only that the post stays, nothing is known of all.
            if problems.contains(where: { $0.status == .outcomeUnknown }) { last.status = .outcomeUnknown }
            throw last
        }

        /// What is said of an error; one that is none of a post is thrown.
        private func failure(_ error: any Error) throws -> CommandFailure {
            guard var failure = CommandFailure(describing: error) else { throw error }
            // A node that was asked and says nothing may have done it.
            if case .silent? = (error as? LockstepError)?.underlying as? AdministrationFailure {
                failure.status = .outcomeUnknown
            }
            return failure
        }

        /// Asks for a handover, again until `end` where it may be granted a moment later.
        private func begin(_ store: String, to node: String?, until end: ContinuousClock.Instant) async throws {
            let request = PostRequest(command: "handover", store: store, to: node, look: nil)
            let notice = WaitNotice()
            while true {
                do {
                    _ = try await ask(request)
                    return
                } catch let error as LockstepError where error.underlying is PassingRefusal {
                    guard ContinuousClock.now < end else { throw error }
                    notice.waiting(for: "a member that can take \(store)")
                    try await Task.sleep(for: Self.pause * 5)
                }
            }
        }

        /// Waits for the end of a handover; returns a line about it.
        private func end(of store: String) async throws -> String {
            let end = ContinuousClock.now + Self.patience
            let notice = WaitNotice()
            while ContinuousClock.now < end {
                let post = try await post(of: store)
                if let handover = post.handover, !handover.isUnderWay {
                    if let problem = handover.problem { throw CommandFailure("the post of \(store) stays: \(problem)") }
                    if let primary = post.primary, primary != post.node {
                        return "\(store) is led by \(primary) now, after \(handover.milliseconds) ms"
                    }
                }
                notice.waiting(for: "the next primary of \(store)")
                try await Task.sleep(for: Self.pause)
            }
            throw CommandFailure(
                "who leads \(store) now is not known after 10 s: look at \"cluster status\"", status: .outcomeUnknown)
        }
    }

    extension NodeFolder {
        /// The posts of the node that runs in this folder.
        var handovers: Handovers { Handovers { try await order($0) } }
    }
#endif

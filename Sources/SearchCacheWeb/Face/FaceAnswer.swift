#if Web
    internal import Foundation
    internal import Lockstep
    internal import NIOCore
    internal import SearchCache
    internal import Synchronization

    /// What is answered to a search: a page, or none, and how it was come by.
    struct FaceAnswer {
        /// Why there is no newer page; also what only this node knows of, such as that its primary is silent.
        struct Failure: Encodable {
            var kind: String
            var message: String
            /// RFC 3339.
            var until: String?

            init(_ failure: SearchFailure) {
                kind = failure.kind.rawValue
                message = failure.message
                until = FaceTimes.rfc3339(failure.until)
            }

            init(_ problem: FaceProblem) {
                kind = problem.code
                message = problem.message
            }

            enum CodingKeys: String, CodingKey { case kind, message, until }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(kind, forKey: .kind)
                try container.encode(message, forKey: .message)
                try container.encode(until, forKey: .until)
            }
        }

        var content: FaceContent
        var failure: Failure?
        var source: SearchAnswer.Source
        /// RFC 9211.
        var cacheStatus: String

        /// A fresh page that was here.
        init(remembered answer: SearchAnswer) {
            content = FaceContent(answer)
            source = answer.source
            cacheStatus = "lockstep; hit"
        }

        /// What came of asking, or why nobody was asked.
        init(_ answer: SearchAnswer, wasStale: Bool) {
            content = FaceContent(answer)
            failure = answer.failure.map(Failure.init)
            source = answer.source
            let forward = wasStale ? "fwd=stale" : "fwd=miss"
            let isStored = answer.page?.isFresh ?? false
            let detail = failure.map { "; detail=\($0.kind)" } ?? ""
            cacheStatus =
                switch answer.source {
                case .memory: "lockstep; hit\(detail)"
                case .nothing: "lockstep; hit; detail=nothing"
                case .backend: "lockstep; \(forward)\(isStored ? "; stored" : "")\(detail)"
                case .joined: "lockstep; \(forward); collapsed\(detail)"
                }
        }

        /// A page of before, since asking did not end well.
        init(_ key: String, _ number: Int, stale look: SearchLook, _ problem: FaceProblem) {
            content = FaceContent(
                query: key, number: number, page: look.page, total: look.total, lastPage: look.lastPage)
            failure = Failure(problem)
            source = .memory
            cacheStatus = "lockstep; fwd=stale; detail=\(problem.code)"
        }

        /// Nothing was looked for.
        init(emptyQueryOfPage number: Int) {
            content = FaceContent(query: "", number: number)
            source = .nothing
            cacheStatus = "lockstep; hit; detail=nothing"
        }
    }

    /// The part of an answer that is the same on every node, and the same again until the page changes.
    struct FaceContent: Encodable {
        var query: String
        var number: Int
        var page: SearchPage?
        var total: Int?
        var lastPage: Int?

        enum CodingKeys: String, CodingKey {
            case query, hits, total, lastPage
            case number = "page"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(query, forKey: .query)
            try container.encode(number, forKey: .number)
            try container.encode(page?.hits ?? [], forKey: .hits)
            try container.encode(total, forKey: .total)
            try container.encode(lastPage, forKey: .lastPage)
        }
    }

    extension FaceContent {
        init(_ answer: SearchAnswer) {
            self.init(
                query: answer.query, number: answer.number, page: answer.page, total: answer.total,
                lastPage: answer.lastPage)
        }
    }

    /// A content as JSON, with an open end for what differs from answer to answer.
    struct EncodedContent {
        var bytes: ByteBuffer
        /// Of the content, not of when it was fetched: what is fetched again and is the same keeps its tag.
        var digest: Digest
        var tag: String

        init(_ content: FaceContent) throws {
            var data = try FaceJSON.encode(content)
            // The object is left open: `finished` closes it.
            data.removeLast()
            bytes = ByteBuffer(bytes: data)
            digest = StateDigest.digest(of: content)
            tag = Self.tag(digest)
        }

        /// A weak tag: age, time taken and source differ between answers that have it (RFC 9110, 8.8.1).
        static func tag(_ digest: Digest) -> String {
            let digits = String(digest.rawValue, radix: 16)
            return "W/\"\(String(repeating: "0", count: 32 - digits.count))\(digits)\""
        }

        /// The tag of an answer with this failure, which is another than that of the page alone.
        func tag(with failure: FaceAnswer.Failure?) -> String {
            failure.map { Self.tag(digest + StateDigest.digest(of: $0)) } ?? tag
        }

        /// The whole object.
        func finished(
            _ source: SearchAnswer.Source, age: Int64?, took: Int64, failure: FaceAnswer.Failure?
        ) -> ByteBuffer {
            // A failure of three short texts can always be encoded.
            let failed = failure.flatMap { try? FaceJSON.encode($0) }.map { String(decoding: $0, as: UTF8.self) }
            let end =
                ",\"source\":\"\(source.rawValue)\",\"ageSeconds\":\(age.map(String.init) ?? "null")"
                + ",\"tookMicroseconds\":\(took),\"failure\":\(failed ?? "null")}"
            var whole = ByteBufferAllocator().buffer(capacity: bytes.readableBytes + end.utf8.count)
            whole.writeImmutableBuffer(bytes)
            whole.writeString(end)
            return whole
        }
    }

    /// Encoded pages, so that a hit is not encoded again; bounded, what was not used for long goes first.
    final class EncodedPages: Sendable {
        private struct Key: Hashable {
            var query: String
            var number: Int
        }

        private struct Item {
            var content: FaceContent
            var encoded: EncodedContent

            /// The bytes, and as much again for the hits that are kept from being freed.
            var size: Int { 512 + 2 * encoded.bytes.readableBytes }

            /// Whether it is still right.
            ///
            /// Hits that are one array in both are not compared one by one, and those of the state are, so this is exact
            /// and costs about as much as comparing a version would.
            func matches(_ other: FaceContent) -> Bool {
                content.total == other.total && content.lastPage == other.lastPage && content.page == other.page
            }
        }

        /// Two generations: what is used moves to the young one, and when that is full the old one goes.
        private struct Generations {
            var young: [Key: Item] = [:]
            var old: [Key: Item] = [:]
            var youngSize = 0
            var oldSize = 0
        }

        private let generations = Mutex(Generations())
        private let limit: Int

        /// Keeps so many bytes at most.
        init(limit: Int) { self.limit = limit }

        /// The content as JSON.
        func encoded(_ content: FaceContent) throws -> EncodedContent {
            let key = Key(query: content.query, number: content.number)
            let found = generations.withLock { generations -> EncodedContent? in
                if let item = generations.young[key] { return item.matches(content) ? item.encoded : nil }
                guard let item = generations.old.removeValue(forKey: key) else { return nil }
                generations.oldSize -= item.size
                guard item.matches(content) else { return nil }
                put(item, key, &generations)
                return item.encoded
            }
            if let found { return found }
            let item = Item(content: content, encoded: try EncodedContent(content))
            generations.withLock { put(item, key, &$0) }
            return item.encoded
        }

        private func put(_ item: Item, _ key: Key, _ generations: inout Generations) {
            guard item.size <= limit / 2 else { return }
            if generations.youngSize + item.size > limit / 2 {
                (generations.old, generations.oldSize) = (generations.young, generations.youngSize)
                (generations.young, generations.youngSize) = ([:], 0)
            }
            generations.youngSize += item.size - (generations.young[key]?.size ?? 0)
            generations.young[key] = item
        }

        /// How many bytes it counts; at most its limit.
        var size: Int { generations.withLock { $0.youngSize + $0.oldSize } }
    }
#endif

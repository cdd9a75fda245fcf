#if Etcd
    import LockstepCore
    import LockstepFolders
    import LockstepNode

    extension ClusterPlace.Opened {
        /// How often etcd is asked for the same while the outcome is unknown, and how long a node may take.
        private static var tries: Int { 5 }
        private static var patience: Duration { .seconds(20) }

        func order(of store: String, listed: [NodeAddress]) -> RecordOrder {
            var generator = SystemRandomNumberGenerator()
            return RecordOrder(store: store, listed: listed, attempt: AttemptID(using: &generator))
        }

        /// Writes `proposed` in the place of `compared`, or not at all (PROTOCOL, R-76).
        @concurrent func write(
            _ proposed: ConfigurationRecord, replacing compared: StoredRecord, of store: String
        ) async throws {
            let attempt = RecordAttempt(replacing: compared, with: proposed)
            var reason: String?
            for _ in 0..<Self.tries {
                switch try await ask({ await $0.transact(attempt, on: store, within: ClusterPlace.patience) }) {
                case .applied: return
                case .refused(let stored):
                    switch stored.map(attempt.settlement(by:)) {
                    case .applied: return
                    case .open: continue
                    // A node may have written another one since, after it had read this one.
                    case .refused where reason != nil && stored.map(attempt.isFulfilled(by:)) == true: return
                    // It may have been written, and another one since by somebody who goes another way.
                    case .refused where reason != nil && (stored?.record.number ?? 0) > proposed.number:
                        throw unknown(store, "another record was written since")
                    case .refused, .regressed, nil:
                        throw CommandFailure("the record of \(store) has changed meanwhile: run the same command again")
                    }
                case .unknown(let text): reason = try await ClusterPlace.pause(after: text)
                }
            }
            throw unknown(store, reason ?? "the record is the same as before")
        }

        /// Writes the record of a store that has none, and has its channel still or anew.
        @concurrent func create(_ record: ConfigurationRecord, of store: String) async throws {
            var (reason, hasChannel) = (String?.none, false)
            for _ in 0..<Self.tries {
                let outcome = try await ask { [hasChannel] in
                    hasChannel
                        ? await $0.restore(record, of: store, within: ClusterPlace.patience)
                        : await $0.create(record, of: store, within: ClusterPlace.patience)
                }
                switch outcome {
                case .created: return
                case .exists(let stored) where stored.record.attempt == record.attempt: return
                case .exists(let stored) where reason != nil && stored.record.goesOn(from: record): return
                case .exists:
                    throw CommandFailure("somebody has made a record of \(store) meanwhile: look at \"cluster status\"")
                case .channelTaken(let owner) where owner == store: hasChannel.toggle()
                case .channelTaken(let owner):
                    throw CommandFailure(
                        "channel \(record.channel.rawValue) of \(store) is that of the store \(owner): all programs of a cluster have "
                            + "the same stores in the same order")
                case .unknown(let text): reason = try await ClusterPlace.pause(after: text)
                }
            }
            throw unknown(store, reason ?? "its channel comes and goes")
        }

        private func unknown(_ store: String, _ reason: String) -> CommandFailure {
            CommandFailure(
                "whether the record of \(store) was written is not known (\(reason)): run the same command again",
                status: .outcomeUnknown)
        }

        /// What the running node knows of a store after it has asked the others; those that are listed, or members, have 3 s.
        @concurrent func lookedAtPost(of store: String, listed: [NodeAddress]) async throws -> StorePost {
            try await lookedAtPost(of: store, until: ContinuousClock.now + .seconds(3)) { post in
                Set(listed.map(\.node.name) + post.members + post.reports.flatMap(\.members))
            }
        }

        /// The same, when those that are `wanted` have answered, or at `end`.
        private func lookedAtPost(
            of store: String, until end: ContinuousClock.Instant, wanted: (StorePost) -> Set<String>
        ) async throws -> StorePost {
            var post = try await post(of: store, after: .nodes)
            while !wanted(post).isSubset(of: [node.name] + post.reports.map(\.node)), ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(50))
                post = try await self.post(of: store)
            }
            return post
        }

        /// The records of stores, and what the nodes that are listed know of each; throws if the arbiter was set back.
        ///
        /// A node that has just ended is listed, and answers nothing: all stores together wait 3 s for such, and each 0.3 s.
        @concurrent func checkedRecords(
            of stores: [String], listed: [NodeAddress]
        ) async throws -> [(store: String, old: StoredRecord, post: StorePost)] {
            let end = ContinuousClock.now + .seconds(3)
            var records: [(store: String, old: StoredRecord, post: StorePost)] = []
            for store in stores {
                // The record is read afterwards: one that is written meanwhile would look as if the nodes knew more.
                let post = try await lookedAtPost(of: store, until: max(end, .now + .milliseconds(300))) { _ in
                    Set(listed.map(\.node.name))
                }
                let stored = try await record(of: store)
                try order(of: store, listed: listed).checkHolds(stored, post)
                records.append((store, stored, post))
            }
            return records
        }

        /// The records for a command that the folder's node need not run for: then nothing is compared.
        @concurrent func recordsIfChecked(
            of stores: [String], listed: [NodeAddress]
        ) async throws -> [(store: String, old: StoredRecord)] {
            do {
                return try await checkedRecords(of: stores, listed: listed).map { ($0.store, $0.old) }
            } catch let failure as CommandFailure where failure.status == .unreachable {
                var records: [(store: String, old: StoredRecord)] = []
                for store in stores { records.append((store, try await record(of: store))) }
                return records
            }
        }

        /// What the running node of this folder knows of a store's post.
        @concurrent func post(of store: String, after look: PostLook? = nil) async throws -> StorePost {
            do { return try await folder.handovers.post(of: store, after: look) } catch let error
                as LockstepError
            {
                guard case .notRunning? = error.underlying as? AdministrationFailure else { throw error }
                throw CommandFailure(
                    "no node runs in \(folder.path): start it first; it waits as a standby", status: .unreachable)
            }
        }

        /// Has the running node of this folder tell the primary of a record that was written, and waits until that goes by
        /// it (PROTOCOL, R-89); false if it is not there.
        @concurrent func waitUntilKnown(
            _ record: ConfigurationRecord, of store: String, listed: [NodeAddress]
        ) async throws -> Bool {
            let primary = record.primary.member.node
            guard listed.contains(where: { $0.node == primary }) else { return false }
            let end = ContinuousClock.now + Self.patience
            let notice = WaitNotice()
            while true {
                // What is lost on the way, or is not answered, is asked for again.
                var post = try await post(of: store, after: .record)
                let next = ContinuousClock.now + .milliseconds(200)
                while ContinuousClock.now < next {
                    let own = primary == node ? post.shown.number : nil
                    let told = post.reports.first { $0.node == primary.name }?.number
                    if let known = own ?? told, known >= record.number { return true }
                    try await Task.sleep(for: .milliseconds(20))
                    post = try await self.post(of: store)
                }
                guard ContinuousClock.now < end else {
                    throw CommandFailure(
                        "the record of \(store) is written, and its primary \(primary) does not go by it after 20 s: look at "
                            + "its log")
                }
                notice.waiting(for: "\(primary), to go by the record of \(store)")
            }
        }

        /// Waits until the node of this folder is the primary of a store, by `record` or a later one; returns the epoch.
        @concurrent func waitUntilPrimary(of store: String, by record: ConfigurationRecord) async throws -> UInt64 {
            let end = ContinuousClock.now + Self.patience
            let notice = WaitNotice()
            var (post, asked) = (try await folder.handovers.post(of: store, after: .record), ContinuousClock.now)
            while !post.isPrimary || post.shown.number <= record.number {
                guard ContinuousClock.now < end else {
                    throw CommandFailure(
                        "the record of \(store) is written, and \(node) is not the primary after 20 s: look at its log")
                }
                notice.waiting(for: "the first epoch of \(store)")
                try await Task.sleep(for: .milliseconds(50))
                // A primary whose record was read before it was written has no other reason to read it.
                let isDue = ContinuousClock.now - asked > .seconds(1)
                if isDue { asked = .now }
                post = try await folder.handovers.post(of: store, after: isDue ? .record : nil)
            }
            return post.epoch
        }
    }
#endif

internal import Dispatch
package import LockstepCore

/// Executes what a store's machine directs about snapshots, whichever role it has; on the node's thread.
///
/// The image is taken at once, since the next event changes the state. Encoding and hashing run on a queue of their own,
/// and an image makes later writes dearer, so it goes when it is encoded. What is encoded stays until the machine drops
/// it: for joiners, and for the journal, whose ``JournalDesk`` knows when a save may begin.
package final class SnapshotDesk {
    private unowned let host: StoreHost
    private let state: ObservedState
    private var images: [SnapshotNumber: Captured] = [:]
    private var encoded: [SnapshotNumber: EncodedSnapshot] = [:]
    private var encodingBegan = Tick.zero
    /// What a reign began with.
    private var kept: Captured?

    private struct Captured: Sendable {
        var image: any StateImage
        var log: LogState
        /// Nil where computing it would take the node's thread too long.
        var digest: Digest?

        func content() throws -> SnapshotContent {
            let digest = digest ?? image.digest + log.digest
            return SnapshotContent(log: log, digest: digest, state: try image.encoded())
        }
    }

    package init(host: StoreHost, state: ObservedState) {
        self.host = host
        self.state = state
    }

    package func capture(_ number: SnapshotNumber, log: LogState, digest: Digest) {
        images[number] = Captured(image: state.image(), log: log, digest: digest)
    }

    /// Encodes elsewhere, in chunks of so many bytes; the driver hears what became of it.
    package func encode(_ number: SnapshotNumber, chunkBytes: Int, now: Tick) {
        guard let captured = images.removeValue(forKey: number) else {
            preconditionFailure("snapshot \(number) was not captured")
        }
        encode(captured, as: number, chunkBytes: chunkBytes, now: now)
    }

    /// Takes the image of what a reign begins with, which has committed, and is needed until the epoch is open.
    func keep(_ log: LogState) { kept = Captured(image: state.image(), log: log, digest: nil) }

    func forgetKept() { kept = nil }

    func encodeKept(_ number: SnapshotNumber, chunkBytes: Int, now: Tick) {
        guard let kept else { preconditionFailure("what a reign begins with is kept until its epoch is open") }
        encode(kept, as: number, chunkBytes: chunkBytes, now: now)
    }

    private func encode(_ captured: Captured, as number: SnapshotNumber, chunkBytes: Int, now: Tick) {
        encodingBegan = now
        let (mailbox, id) = (host.mailbox, ObjectIdentifier(self))
        host.services.background.async {
            let outcome = Result {
                let content = try captured.content()
                return EncodedSnapshot(
                    number: number, bytes: content.encoded(), log: content.log, digest: content.digest,
                    chunkBytes: chunkBytes)
            }
            mailbox.put { host in
                // Of a role that the store no longer has, nobody wants it.
                guard let desk = host.driver?.snapshots, ObjectIdentifier(desk) == id else { return }
                desk.finished(number, outcome)
            }
        }
    }

    private func finished(_ number: SnapshotNumber, _ outcome: Result<EncodedSnapshot, any Error>) {
        let now = MonotonicClock.now
        switch outcome {
        case .success(let snapshot):
            host.metrics.snapshotMade(nanoseconds: now - encodingBegan)
            encoded[number] = snapshot
            host.driver?.encoded(number, snapshot.info, now: now)
        case .failure(let error):
            host.snapshotFailed(error)
            host.driver?.desk.snapshotFailed(at: now)
            host.driver?.encoded(number, nil, now: now)
        }
    }

    /// Gives it to the journal, when its time comes.
    package func save(_ number: SnapshotNumber, now: Tick) {
        guard let snapshot = encoded[number] else { return }
        host.driver?.desk.offer(number, at: snapshot.info.position.sequence, now: now)
    }

    package func drop(_ number: SnapshotNumber) {
        images[number] = nil
        encoded[number] = nil
    }

    /// What is encoded and not dropped.
    package subscript(number: SnapshotNumber) -> EncodedSnapshot? { encoded[number] }

    /// Sends chunks to a joiner; what finds no room is asked for again.
    package func sendChunks(
        of number: SnapshotNumber, _ indices: Range<Int>, to connection: Connection, stamp: FrameStamp
    ) {
        guard let snapshot = encoded[number] else { return }
        for index in indices {
            guard let frame = snapshot.frame(of: index, stamp: stamp), host.sendBulk(frame, to: connection) else {
                return
            }
        }
    }
}

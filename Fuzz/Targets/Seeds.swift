import LockstepCore

/// Inputs to begin with: the golden bytes, and texts and values made by hand.
package enum Seeds {
    package struct Seed: Sendable {
        package var name: String
        package var bytes: [UInt8]

        package init(name: String, bytes: [UInt8]) {
            self.name = name
            self.bytes = bytes
        }
    }

    /// The seeds of a target.
    ///
    /// - Parameters:
    ///   - target: Whose inputs they are.
    ///   - text: The text of docs/golden-bytes.txt.
    /// - Returns: Inputs with names of their own.
    /// - Throws: ``FuzzFinding`` if the text holds something else than vectors.
    package static func seeds(of target: FuzzTarget, golden text: String) throws(FuzzFinding) -> [Seed] {
        let vectors = try vectors(in: text)
        let made: [Seed] =
            switch target {
            case .frames: frames(vectors)
            case .entries: entries(vectors)
            case .journal: journal(vectors)
            case .tables: tables(vectors)
            case .snapshots: snapshots(vectors)
            case .replica: replica(vectors)
            case .payloads: TextSeeds.payloads
            case .json: TextSeeds.json
            case .configuration: TextSeeds.configuration
            case .keys: TextSeeds.keys
            }
        for seed in made where seed.bytes.count > target.longestInput {
            throw FuzzFinding(description: "the seed \(seed.name) is longer than the inputs of \(target)")
        }
        return made
    }

    /// The lines of the file: a name, a space, and bytes in hexadecimal.
    private static func vectors(in text: String) throws(FuzzFinding) -> [Seed] {
        var vectors: [Seed] = []
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let parts = line.split(separator: " ")
            guard parts.count == 2, let bytes = bytes(ofHexadecimal: parts[1]) else {
                throw FuzzFinding(description: "no vector: \(line)")
            }
            vectors.append(Seed(name: String(parts[0]), bytes: bytes))
        }
        return vectors
    }

    private static func bytes(ofHexadecimal text: Substring) -> [UInt8]? {
        guard text.utf8.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        var rest = text
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return nil }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    private static func named(_ prefix: String, _ vectors: [Seed]) -> [Seed] {
        vectors.filter { $0.name.hasPrefix(prefix) }
    }

    /// Each frame as it is, and each with its header made right.
    private static func frames(_ vectors: [Seed]) -> [Seed] {
        named("message.", vectors).flatMap { vector in
            [0, FrameTarget.repairs].map { Seed(name: "\(vector.name).\($0)", bytes: [$0] + vector.bytes) }
        }
    }

    private static func entries(_ vectors: [Seed]) -> [Seed] {
        var seeds = named("entry.", vectors).map { vector in
            Seed(name: vector.name, bytes: [EntryTarget.Mode.entries.rawValue] + vector.bytes)
        }
        for vector in named("batch", vectors) {
            seeds.append(Seed(name: vector.name, bytes: [EntryTarget.Mode.batch.rawValue] + vector.bytes))
            var log = FuzzInputWriter()
            log.byte(EntryTarget.Mode.log.rawValue)
            log.byte(0)
            log.block(Array(vector.bytes[BatchHead.byteCount...]))
            // What follows has sessions of its own, so that it can be applied: an acknowledgement, a mark, an end.
            for entry in named("entry.session", vectors) + named("entry.digestMark", vectors) {
                log.byte(2)
                log.block(entry.bytes)
            }
            seeds.append(Seed(name: "log", bytes: log.bytes))
        }
        return seeds
    }

    private static func journal(_ vectors: [Seed]) -> [Seed] {
        var seeds: [Seed] = []
        for vector in named("batch", vectors) {
            var batches = FuzzInputWriter()
            batches.byte(JournalTarget.Mode.batches.rawValue | JournalTarget.fits)
            batches.block(vector.bytes)
            seeds.append(Seed(name: "batches", bytes: batches.bytes))
        }
        var facts = FuzzInputWriter()
        facts.byte(JournalTarget.Mode.facts.rawValue | JournalTarget.fits)
        for (key, value) in [
            ("cluster", "00112233445566778899aabbccddeeff"), ("store", "counters"), ("channel", "7"),
            ("incarnation", "11111111222222223333333344444444"), ("generation", "1"), ("note.lossAccepted", "1:2"),
        ] {
            facts.block(Array(key.utf8))
            facts.block(Array(value.utf8))
        }
        seeds.append(Seed(name: "facts", bytes: facts.bytes))
        var slot = FuzzInputWriter()
        slot.byte(JournalTarget.Mode.slot.rawValue | JournalTarget.fits)
        slot.rest([0x4C, 0x4B, 0x53, 0x4D, 1, 0, 0, 0, 5] + [UInt8](repeating: 0, count: 63))
        seeds.append(Seed(name: "slot", bytes: slot.bytes))
        return seeds
    }

    /// A journal of one batch, and those with a snapshot after it.
    private static func tables(_ vectors: [Seed]) -> [Seed] {
        named("batch", vectors).flatMap { vector in
            [Seed(name: vector.name, bytes: tables(batch: vector.bytes, snapshot: nil))]
                + named("snapshot", vectors).map { snapshot in
                    Seed(
                        name: "\(vector.name).\(snapshot.name)",
                        bytes: tables(batch: vector.bytes, snapshot: snapshot.bytes))
                }
        }
    }

    private static func tables(batch: [UInt8], snapshot: [UInt8]?) -> [UInt8] {
        var tables = FuzzInputWriter()
        func hash(_ value: UInt128) -> [UInt8] {
            var writer = ByteWriter()
            writer.write128(value)
            return writer.bytes
        }
        func integer(_ value: UInt64) {
            tables.byte(1)
            tables.integer(value)
        }
        func blob(_ bytes: [UInt8]) {
            tables.byte(5)
            tables.block(bytes)
        }
        let end = sha256Prefix(batch)
        for value in [Golden.epoch.rawValue, 6, UInt64(end >> 64), UInt64(truncatingIfNeeded: end)] {
            tables.integer(value)
        }
        tables.byte(1)
        for value in [1, 6, Golden.epoch.rawValue] { integer(value) }
        blob(hash(sha256Prefix(batch)))
        blob(batch)
        if let content = snapshot {
            let chunkHash = hash(sha256Prefix(content))
            tables.byte(2)
            integer(6)
            integer(Golden.epoch.rawValue)
            blob(hash(sha256Prefix(batch)))
            integer(UInt64(content.count))
            integer(1)
            integer(1)
            var sum = ByteWriter()
            sum.write(Golden.epoch.rawValue)
            sum.write(UInt64(6))
            sum.write128(sha256Prefix(batch))
            sum.write(UInt64(content.count))
            sum.write(Int64(1))
            sum.writeRaw(chunkHash)
            blob(hash(sha256Prefix(sum.bytes)))
            tables.byte(3)
            integer(1)
            blob(chunkHash)
            blob(content)
        }
        return tables.bytes
    }

    private static func snapshots(_ vectors: [Seed]) -> [Seed] {
        var seeds = named("snapshot", vectors).map { Seed(name: $0.name, bytes: [0] + $0.bytes) }
        seeds.append(Seed(name: "no-sessions", bytes: [1, 0]))
        return seeds
    }

    private static func replica(_ vectors: [Seed]) -> [Seed] {
        func input(_ name: String, _ body: (inout FuzzInputWriter) -> Void) -> Seed {
            var writer = FuzzInputWriter()
            writer.byte(ReplicaTarget.Step.broadcast.rawValue)
            writer.block(named("message.beacon", vectors).first?.bytes ?? [])
            body(&writer)
            return Seed(name: name, bytes: writer.bytes)
        }
        var seeds = [
            input("tail") { writer in
                writer.byte(ReplicaTarget.Step.plan.rawValue)
                writer.block((named("message.syncPlan.tail", vectors).first?.bytes ?? []).suffix(49).map(\.self))
                for batch in named("batch", vectors) {
                    writer.byte(ReplicaTarget.Step.batch.rawValue)
                    writer.block(Array(batch.bytes[BatchHead.byteCount...].prefix(41)))
                }
            }
        ]
        for snapshot in named("snapshot", vectors) {
            seeds.append(
                input("fetch.\(snapshot.name)") { writer in
                    writer.byte(ReplicaTarget.Step.offer.rawValue)
                    writer.block(snapshot.bytes)
                    writer.byte(1)
                    writer.byte(ReplicaTarget.Step.chunk.rawValue)
                    writer.byte(0)
                    writer.byte(0)
                })
        }
        for vector in named("message.", vectors) where vector.bytes.count < 1_024 {
            for step in [ReplicaTarget.Step.broadcast, .bulk, .ingress, .join] {
                seeds.append(
                    input("\(vector.name).\(step)") { writer in
                        writer.byte(step.rawValue)
                        writer.block(vector.bytes)
                    })
            }
        }
        return seeds
    }
}

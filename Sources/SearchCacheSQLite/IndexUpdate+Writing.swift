import GRDB

/// The parts of an update, and what is in them.
extension IndexUpdate {
    /// What the index has under a key of this source.
    func known(_ key: String) throws -> KnownItem? {
        let statement = try db.cachedStatement(
            sql: "SELECT id, stamp, hash FROM items WHERE source = ? AND key = ?")
        return try Row.fetchOne(statement, arguments: [source, key]).map {
            KnownItem(id: $0[0], stamp: $0[1], hash: $0[2])
        }
    }

    /// Adds an item to the part, which is committed when it is full.
    func add(_ item: Item, bytes: Int) throws {
        part.append(item)
        partSize += bytes
        if part.count >= Self.partItems || partSize >= Self.partBytes { try commitPart() }
    }

    /// Ends the part, if there is anything in it.
    func commitPart() throws {
        try Task.checkCancellation()
        guard !part.isEmpty else { return }
        let before = report
        do {
            try db.inTransaction(.immediate) {
                var isChanged = false
                for item in part { isChanged = try write(item) || isChanged }
                if isChanged { try grow() }
                return .commit
            }
        } catch {
            report = before
            throw error
        }
        part.removeAll(keepingCapacity: true)
        partSize = 0
        state.indexed = report.indexed
        progress?(state)
    }

    private func grow() throws {
        try db.execute(sql: "UPDATE facts SET value = value + 1 WHERE key = 'generation'")
    }

    /// Writes an item; returns whether it changes what is found.
    private func write(_ item: Item) throws -> Bool {
        switch item.change {
        case .none: return try see(item.id)
        case .stamp:
            try db.cachedStatement(sql: "UPDATE items SET stamp = ? WHERE id = ?").execute(
                arguments: [item.stamp, item.id])
            return try see(item.id)
        case .removal:
            guard try item.id.map(forget) ?? false else { return false }
            report.removed += 1
            return true
        case .text(let title, let body, let hash):
            // The same paragraph may come twice, also in one part: the first one counts.
            if let twin = try known(item.key), try isSeen(twin.id) {
                report.duplicates += 1
                return false
            }
            let isGone = try item.id.map(forget) ?? false
            try db.cachedStatement(
                sql: "INSERT INTO items(id, source, key, stamp, hash, has_text) VALUES (?, ?, ?, ?, ?, ?)"
            ).execute(arguments: [item.id, source, item.key, item.stamp, hash, body != nil])
            let id = db.lastInsertedRowID
            if let body {
                try db.cachedStatement(sql: "INSERT INTO texts(rowid, title, body) VALUES (?, ?, ?)").execute(
                    arguments: [id, title, body])
                report.indexed += 1
                report.textBytes += Int64(body.utf8.count)
            } else if isGone {
                report.removed += 1
            }
            _ = try see(id)
            return body != nil || isGone
        }
    }

    /// Notes that an item is still there; nothing that is found changes.
    private func see(_ id: Int64?) throws -> Bool {
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO temp.seen(id) VALUES (?)").execute(arguments: [id])
        return false
    }

    private func isSeen(_ id: Int64) throws -> Bool {
        let statement = try db.cachedStatement(sql: "SELECT 1 FROM temp.seen WHERE id = ?")
        return try Bool.fetchOne(statement, arguments: [id]) ?? false
    }

    /// Deletes an item and its text; returns whether it had one.
    private func forget(_ id: Int64) throws -> Bool {
        let hadText = try Bool.fetchOne(
            try db.cachedStatement(sql: "SELECT has_text FROM items WHERE id = ?"), arguments: [id])
        if hadText == true {
            try db.cachedStatement(sql: "DELETE FROM texts WHERE rowid = ?").execute(arguments: [id])
        }
        try db.cachedStatement(sql: "DELETE FROM items WHERE id = ?").execute(arguments: [id])
        return hadText == true
    }

    /// Keeps what is known of a folder that cannot be listed.
    func keepBelow(_ key: String) throws {
        // Keys that begin with `key/` are those from it up to `key0`, the next character.
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO temp.seen(id) SELECT id FROM items
                WHERE source = ?1 AND (?2 = '' OR (key >= ?2 || '/' AND key < ?2 || '0'))
                """, arguments: [source, key])
    }

    /// Removes what this run has not found, in parts.
    func removeOthers() throws {
        var last: Int64 = 0
        while true {
            try Task.checkCancellation()
            let ids = try Int64.fetchAll(
                db,
                sql: """
                    SELECT id FROM items WHERE id > ? AND source = ? AND id NOT IN (SELECT id FROM temp.seen)
                    ORDER BY id LIMIT \(Self.partItems)
                    """, arguments: [last, source])
            guard let end = ids.last else { return }
            last = end
            var removed = 0
            try db.inTransaction(.immediate) {
                for id in ids where try forget(id) { removed += 1 }
                if removed > 0 { try grow() }
                return .commit
            }
            report.removed += removed
        }
    }
}

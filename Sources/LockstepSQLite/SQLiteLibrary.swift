import GRDBSQLite

/// The library that reads and writes journals.
package enum SQLiteLibrary {
    /// The version that is loaded (`sqlite3_libversion`).
    package static var version: String { String(cString: sqlite3_libversion()) }
}

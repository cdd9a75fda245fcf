extension String {
    /// This text as one word of a shell's command, for commands that a message tells its reader to run.
    ///
    /// As it is, unless a shell would read it otherwise: then in single quotes (POSIX, Shell Command Language, 2.2.2).
    package var shellWord: String {
        let isPlain = !isEmpty && unicodeScalars.allSatisfy { $0.isASCII ? Self.plain.contains($0) : true }
        return isPlain ? self : "'" + replacing("'", with: "'\\''") + "'"
    }

    private static let plain = Set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-:,@%+=".unicodeScalars)
}

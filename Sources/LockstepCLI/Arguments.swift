/// The words of the command line, as the system gave them.
enum Arguments {
    /// The place of the first word that is not UTF-8, and the word with its bytes repaired; nil if all are.
    ///
    /// Swift repairs such words silently, so that two different names would become one (PROTOCOL, section 3).
    static func firstThatIsNotText() -> (place: Int, repaired: String)? {
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = unsafe CommandLine.unsafeArgv[place] else { break }
            if unsafe String(validatingCString: word) == nil { return unsafe (place, String(cString: word)) }
        }
        return nil
    }
}

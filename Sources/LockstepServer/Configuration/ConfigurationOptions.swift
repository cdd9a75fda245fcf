/// Where `serve` reads its configuration from, besides the command line.
package struct ConfigurationOptions: ParsableArguments {
    @Option(
        help: "A YAML or JSON file (.yaml, .yml, .json) with options of this command by name; flags win over it.")
    var config: String?
    @Flag(help: "Print each key, its value and where that is from, and end.")
    var printConfiguration = false
    @Flag(help: "Print the configuration as JSON.")
    var json = false

    /// The names of these options, which are no keys.
    static let names: Set = ["config", "print-configuration", "json"]

    package init() {}

    package func validate() throws {
        guard printConfiguration || !json else { throw ValidationError("--json goes with --print-configuration") }
    }

    /// What the program read; nil if its commands are not run by ``AsyncParsableCommand/runAsProgram()``.
    ///
    /// - Throws: ``CommandFailure`` if it should have read something, and has not.
    func read() throws -> ServeConfiguration? {
        let configuration = ServeConfiguration.current
        guard configuration != nil || (config == nil && !printConfiguration) else {
            throw CommandFailure("this program reads no configuration: its main() has to call runAsProgram()")
        }
        return configuration
    }

    /// Prints what was read, if that is asked for, and says whether it was.
    func isPrinted(_ configuration: ServeConfiguration?) throws -> Bool {
        guard printConfiguration, let configuration else { return false }
        Output.line(json ? try configuration.json() : configuration.lines.joined(separator: "\n"))
        return true
    }
}

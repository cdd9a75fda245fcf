/// What users are told to set: the library's errors name the property, the program's the option.
package enum SettingName: CaseIterable, Sendable {
    case plaintext, clock, sessionTimeToLive, snapshotAfter, role

    /// The property of ``NodeConfiguration``.
    package var property: String {
        switch self {
        case .plaintext: "allowsPlaintext"
        case .clock: "acceptsClock"
        case .sessionTimeToLive: "sessionTimeToLive"
        case .snapshotAfter: "snapshotAfterBytes"
        case .role: "changesRole in a program"
        }
    }

    /// What does the same on the command line.
    package var option: String {
        switch self {
        case .plaintext: "--insecure"
        case .clock: "\"lockstep clock accept\""
        case .sessionTimeToLive: "the session's time to live"
        case .snapshotAfter: "--snapshot-after"
        case .role: "see \"lockstep help promote\""
        }
    }
}

extension LockstepError {
    /// The message in the words of the command line.
    package var programMessage: String {
        SettingName.allCases.reduce(message) { $0.replacing($1.property, with: $1.option) }
    }
}

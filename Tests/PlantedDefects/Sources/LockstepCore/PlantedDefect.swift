/// A bug that is put into the machines on purpose, to see that the simulator finds it.
///
/// Only the programs of `deploy/planted-defects --build` have the defects, and one at most is active.
package enum PlantedDefect: String, CaseIterable, Sendable {
    /// A batch is broadcast when it is handed to the journal (against R-16).
    case publishBeforeCommit
    /// RESULT leaves when the action is performed (against R-16).
    case answerBeforeCommit
    /// Readers see what is handed to the journal (against R-16).
    case viewBeforeCommit
    /// An encoded snapshot lacks the kept replies (against R-23).
    case repliesMissingFromSnapshot
    /// An encoded snapshot lacks the names of who opened its sessions (against R-71).
    case sendersMissingFromSnapshot
    /// What a name has in flight in its other sessions does not count (against R-73).
    case quotaOfOneSession
    /// Numbers that are in the log are performed again, as the session's next ones (against R-21).
    case noDeduplication
    /// A snapshot names the position one batch before its content (against R-50).
    case snapshotOneShort
    /// A hole that only a beacon shows is not repaired (against R-36).
    case beaconIgnored
    /// The replica's buffer of the stream has no bound (against R-31).
    case unboundedJoinBuffer
    /// The primary takes numbers that are not the session's next (against R-21).
    case numbersNotContiguous
    /// A replica ends sessions by its own clock (against R-27).
    case expiryByLocalClock
    /// A mark carries the digest of the mark before (against R-53).
    case digestOfWrongPosition
    /// A replica applies the mutations of a duplicate batch to its state (against R-35).
    case batchAppliedTwice
    /// A replica leaves out what is missing and goes on after it (against R-35).
    case gapIgnored
    /// A boot goes on in the epoch that it recovered (against R-5).
    case epochReused
    /// RESUME sends no kept replies, and a number in the log that is submitted again is answered as rejected (against
    ///
    case resumeWithoutReplies
    /// A number in the log is reported void to one who gives it up (against R-28).
    case voidWins
    /// A replica that is ahead gives its history up by itself (against R-42).
    case aheadReplicaFollows
    /// A replica stands aside for an end that was told to nobody (against R-42).
    case standsAsideForMarks
    /// A primary that heard of a higher position goes on admitting (against R-41).
    case behindPrimaryAdmits
    /// A commit that failed counts as committed (against R-44).
    case failedCommitIgnored
    /// A commit that failed for another reason than a full disk is tried again (against R-44).
    case failedCommitRetried
    /// A read is answered by the view that is at hand, whatever it asks for (against R-16 and the levels of READ).
    case readTooEarly
    /// Log time follows the wall clock backwards (against R-15).
    case logTimeGoesBack
    /// An acknowledgement drops one reply too many (against R-23).
    case trimOffByOne
    /// A client takes the answers after a hole for those that are missing (against R-22).
    case answerHoleIgnored
    /// A client submits what was unanswered again under its new session (against R-27).
    case resubmitsAfterLoss
    /// A restarted primary logs the ends that it finds once more (against R-61).
    case endsAgainAfterRestart
    /// A restarted primary does not run what it finds (against R-62).
    case acceptedForgotten
    /// What a cancelled or superseded run still emits is logged (against R-62).
    case emitsAfterEnd
    /// An effect begins when its action is sequenced (against R-62).
    case effectBeforeCommit
    /// An encoded snapshot lacks the runs (against R-61).
    case runsMissingFromSnapshot
    /// Timers follow the wall clock instead of log time (against R-65).
    case timersByWallClock
    /// An end counts as acknowledged when it is sent (against R-64).
    case endAcknowledgedWhenSent
    /// An end is pushed once and never told again (against R-64).
    case endToldOnce
    /// A restarted primary forgets the policies of what it runs again (against R-63).
    case policyForgottenAtRestart
    /// A further action is accepted, although another of its group is under way (against R-63).
    case policyFirstIgnored
    /// The attempts of a run are not counted (against R-62).
    case attemptsNotCounted
    /// A feedback may emit when the state does not ask for it any more (against R-65).
    case feedbackOutlivesRequest
    /// All items of a run are reduced with the place of its first (against R-50).
    case runAppliedAtOnePlace
    /// The last item of a run that is not its batch's first is not reduced (against R-50).
    case lastItemLeftOut
    /// What was decoded ahead is forgotten when it is enough to be reduced (against R-50).
    case decodedAheadLost
    /// A client whose RESUMED was lost asks again after 30 s (against section 8).
    case resumeAskedLate
    /// A replica whose SYNC_PLAN was lost asks again after 20 s (against section 8).
    case planAwaitedLong
    /// A REPAIR_REQ for what is not held any more is not answered.
    case repairUnanswered
    /// BUSY says that another try may follow at once, whatever the reason.
    case busyWithoutPause
    /// A client submits again what was not answered for 10 ms (against section 8).
    case submitsInStorm
    /// A client that is told that the primary is overloaded comes again after 20 s (against section 8).
    case overloadAwaitedLong
    /// A SUBMIT whose first action fits the session's window is taken as a whole (against R-24).
    case submitTakenWhole
    /// A quarantined replica goes on serving (against R-53).
    case quarantineServes
    /// A replica compares its digest with every other mark only (against R-53).
    case everyOtherMarkCompared
    /// A primary that is behind answers linearizable reads (against R-41).
    case behindPrimaryReads
    /// A session of a history that was given up is told to have ended (against R-27).
    case givenUpSessionsEnd
    /// A KEEPALIVE is no sign of life (against R-27).
    case keepAliveIgnored
    /// After a restart sessions have half of their time (against R-27).
    case halfTimeAfterRestart
    /// A KEEPALIVE of any connection is a sign of life (against R-29).
    case strangerKeepsAlive
    /// A SUBMIT of any connection is taken (against R-29).
    case strangerSubmits
    /// A CLOSE of any connection ends the session (against R-29).
    case strangerCloses
    /// A RESUME binds the session, whatever nonce it names (against R-29).
    case strangerResumes
    /// A RUN_REQUEST of any connection is taken (against R-29).
    case strangerAsksForRuns
    /// Beacons name no mark (against R-53).
    case beaconWithoutMark
    /// Beacons name the mark with a wrong digest (against R-53).
    case beaconWithWrongDigest
    /// RESUMED names the session's last number as the next (against R-29).
    case resumedOneShort
    /// QUERY does not know a session's last number.
    case queryForgetsLast
    /// A replica answers no joins while its primary is away (against R-32).
    case joinsNeedPrimary
    /// A replica takes no snapshot for a joiner while its primary is away (against R-32).
    case snapshotNeedsPrimary
    /// A replica plans without its last batch (against R-32).
    case planWithoutLastBatch
    /// A journal is served in any role, whatever it notes (against R-49).
    case roleForgotten
    /// An operator may give up any position, whatever the alarm named (against R-41).
    case acceptLossTakesAnyPosition
    /// A joiner whose place is older than what is known of the log is told DIVERGED (against R-32).
    case oldPlaceDiverged
    /// A replica knows its channel as long as it has a primary only (against R-10).
    case channelLostWithPrimary
    /// A HELLO goes to a node's first store, whatever it names (against R-10).
    case helloToFirstStore
    /// A request that is no store's gets no RESYNC (against R-10).
    case strangeRequestDropped
    /// What changes inside a watch's interval is not told when that is over (against R-57).
    case watchForgetsLastChange
    /// Those who watch are told a place that has not committed (against R-16).
    case watchNamesUncommitted
    /// A WATCH that says what its client has heals no lost answer (against R-56).
    case lostWatchAnswerStays
    /// A primary admits as soon as its epoch is open, whoever was not heard (against R-48).
    case audienceNotAwaited
    /// A primary that has not heard its replicas answers linearizable reads (against R-48).
    case unheardPrimaryReads
    /// A KEEPALIVE that acknowledges more than was answered is dropped, and not refused (against R-18).
    case acknowledgedTooMuchDropped
    /// What a refused KEEPALIVE acknowledges is logged all the same (against R-18).
    case acknowledgedTooMuchLogged
    /// A QUERY moves the session to its connection (against R-29).
    case queryBinds
    /// A client whose OPEN was not answered asks again after 30 s (against section 8).
    case openAskedLate
    /// A client that resumes its session takes SESSION_EXPIRED for old news (against section 8).
    case expiryUnheardInResume
    /// A client forgets the local reads that wait when its connection is a new one (against section 8).
    case localReadsForgotten
    /// A client forgets a session read that its node cannot answer yet (against section 4).
    case unavailableReadForgotten
    /// A primary that awaited its replicas answers no linearizable read when they were heard (against R-48).
    case heardPrimaryStaysUnread
    /// A client takes QUERY_RESULT of a session that it has no more for old news (against section 4).
    case formerSessionsUnheard
    /// A primary that awaited its replicas admits only when its wall clock has reached the log's time (against R-15).
    case clockAwaited

    /// A commit returns before its write-ahead log is synced: `synchronous = NORMAL` (against R-16).
    case commitNotSynced
    /// What a start recovers is handed out before it is synced (against R-46).
    case recoveredNotSynced
    /// The names of a new journal's files are not synced.
    case namesNotSynced
    /// The side mark is written before the commit instead of after it (against R-47).
    case markBeforeCommit
    /// A start does not compare the journal with its side mark (against R-47).
    case markNotCompared
    /// A journal goes on writing after a commit that failed (against R-44).
    case failureForgotten
    /// An append does not store the commit number that it was given (against R-84).
    case commitNumberLost
    /// A start hands out the tail of a data node's journal as committed (against R-84).
    case tailShown
    /// A truncation cuts what is known to be committed (against R-84).
    case committedIsCut
    /// A truncation does not raise the journal's generation (against R-84).
    case cutKeepsGeneration
    /// A truncation returns before its write-ahead log is synced (against R-84).
    case cutNotSynced
    /// A promise is answered and not written (against R-84).
    case promiseNotKept

    /// A candidate needs no place in the in-sync set (against R-80).
    case electedOutsideSet
    /// A restarted process goes on in the epoch of its earlier life (against R-82).
    case epochOfEarlierLife
    /// A standby cuts its log to what it knows to be committed before it follows (against R-83).
    case cutsToCommit
    /// A member is its node's name alone (against R-75).
    case incarnationIgnored
    /// A standby acknowledges what is not on its disk yet (against R-77).
    case acknowledgedBeforeSync
    /// Who is proposed to leave is not required any more (against R-76).
    case shrinkAtProposal
    /// Who is proposed to come is required only when it has come (against R-76).
    case growthAtAnswer
    /// A change that the arbiter does not answer is given up (against R-76).
    case silenceIsRefusal
    /// A linearizable read is answered without a confirmation (against R-88).
    case readsUnconfirmed
    /// A linearizable read is confirmed by most of those that are required (against R-88).
    case majorityConfirms
    /// What a data node did not confirm is not asked again (against R-88).
    case confirmationAskedOnce
    /// Who is told that a node is no primary asks it again at once (against R-83).
    case refusedFetchAtOnce
    /// What was inherited commits before the epoch's opening can (against R-78).
    case openingNotAwaited
    /// Batches commit with fewer members than the minimum (against R-78).
    case minimumIgnored
    /// A promise that nobody needs any more is not withdrawn (against R-82).
    case promiseKept
    /// A primary greets a client that knows a later epoch (against R-89).
    case laterClientServed
    /// A primary does not step down when the record names another (against R-76).
    case deposedStays
    /// A member that is silent is not proposed to leave (against R-79).
    case silentStays
    /// Members that a primary leaves in silence, since its disk does not write, leave the set (against R-79).
    case leftOutIsSilent
    /// A primary that hears nobody goes on with its heartbeats (against R-79).
    case deafKeepsPost
    /// A post is given away before everything has committed (against R-90).
    case handoverNotAwaited
    /// After an adoption the first epoch is below those of the log (against R-80).
    case adoptedBelow
    /// The record of whom an operator promoted does not say that something may be lost (against R-75).
    case lossNotNoted
    /// Who knows to be committed what its primary does not have gets a snapshot instead of halting (against R-83).
    case lossNotSaid
    /// An acknowledgement counts whatever stream, epoch, process and log it is of (against R-77).
    case acknowledgementsUnmatched
    /// A data node is proposed before it has the batch that opens the epoch (against R-79).
    case learnerWithoutOpening
    /// Who lacks what another node knows to be committed campaigns all the same (against R-80).
    case lackingCampaigns
    /// A standby whose primary is silent reads the record again after 30 s (against R-80).
    case recordAskedLate

    /// Those of the journal, which the simulator does not run; `deploy/storage-test` finds them.
    package static let ofStorage: [PlantedDefect] = [
        .commitNotSynced, .recoveredNotSynced, .namesNotSynced, .markBeforeCommit, .markNotCompared,
        .failureForgotten, .commitNumberLost, .tailShown, .committedIsCut, .cutKeepsGeneration, .cutNotSynced,
        .promiseNotKept,
    ]
    /// Those of failover; `lockstep-lab simulate --cluster` finds them.
    package static let ofClusters: [PlantedDefect] = [
        .electedOutsideSet, .epochOfEarlierLife, .cutsToCommit, .incarnationIgnored, .acknowledgedBeforeSync,
        .shrinkAtProposal, .growthAtAnswer, .silenceIsRefusal, .readsUnconfirmed, .majorityConfirms,
        .confirmationAskedOnce, .refusedFetchAtOnce, .openingNotAwaited, .minimumIgnored, .promiseKept,
        .laterClientServed, .deposedStays, .silentStays, .leftOutIsSilent, .deafKeepsPost, .handoverNotAwaited,
        .adoptedBelow, .lossNotNoted, .lossNotSaid, .acknowledgementsUnmatched, .learnerWithoutOpening,
        .lackingCampaigns, .recordAskedLate,
    ]
    /// Those that the simulator finds.
    package static var ofMachines: [PlantedDefect] {
        allCases.filter { !ofStorage.contains($0) && !ofClusters.contains($0) }
    }

    /// The defect that is active in this process; set once, before any machine runs.
    nonisolated(unsafe) private static var active: PlantedDefect?

    package static func activate(_ defect: PlantedDefect) { unsafe active = defect }
    package static func isActive(_ defect: PlantedDefect) -> Bool { unsafe active == defect }
}

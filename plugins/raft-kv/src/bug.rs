//! Mistakes made on purpose.

/// A deliberate bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    None,
    /// A leader answers a read at once from its own store.
    ReadLocal,
    /// A leader answers when an entry is in its own log.
    AnswerEarly,
    /// A leader answers reads before it has committed an entry of its term.
    ReadEarly,
    /// The store on the disk is behind the log that goes with it.
    ForgetStore,
    /// A leader judges the condition of a write when the request arrives.
    CompareEarly,
    /// A leader recognises a repeated write when the request arrives.
    RepeatEarly,
    /// The sessions are no part of the store that a node gets which is behind.
    ForgetSessions,
    /// A node votes for any candidate, even if the log of the candidate is behind its own.
    NoLogCheck,
    /// A leader changes the members before it has committed an entry of its term.
    ChangeEarly,
    /// A leader changes the members before the last change is committed.
    ChangeTwice,
    /// A node asks all nodes for their votes, and counts those of nodes that are no members.
    CountStrangers,
    /// A node that is behind gets a store with the first members.
    ForgetMembers,
    /// A node that a leader has chosen leads without an election.
    AppointLeader,
    /// A leader that has handed over answers reads from its own store.
    ReadHandedOver,
    /// A vote is not synced before its candidate hears of it.
    ForgetSyncVotes,
    /// Entries are not synced before the leader hears of them.
    ForgetSyncEntries,
    /// The commit index, and the store that goes with it, are not synced: the log has all of it.
    ForgetSyncCommits,
}

/// Their names, as values of the parameter `bug`.
pub(crate) const NAMES: [(&str, Bug); 18] = [
    ("none", Bug::None),
    ("read-local", Bug::ReadLocal),
    ("answer-early", Bug::AnswerEarly),
    ("read-early", Bug::ReadEarly),
    ("forget-store", Bug::ForgetStore),
    ("no-log-check", Bug::NoLogCheck),
    ("compare-early", Bug::CompareEarly),
    ("repeat-early", Bug::RepeatEarly),
    ("forget-sessions", Bug::ForgetSessions),
    ("change-early", Bug::ChangeEarly),
    ("change-twice", Bug::ChangeTwice),
    ("count-strangers", Bug::CountStrangers),
    ("forget-members", Bug::ForgetMembers),
    ("appoint-leader", Bug::AppointLeader),
    ("read-handed-over", Bug::ReadHandedOver),
    ("forget-sync-votes", Bug::ForgetSyncVotes),
    ("forget-sync-entries", Bug::ForgetSyncEntries),
    ("forget-sync-commits", Bug::ForgetSyncCommits),
];

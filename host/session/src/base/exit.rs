//! Exit codes: one for each way that a command can end. They follow TLC's table, as Apalache's do.

/// The ways in which a command can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// Each property is decided and as it should be, or an incomplete run was not required to be complete.
    Ok = 0,
    /// The result differs from the expected one.
    Unexpected = 1,
    /// The command line itself is wrong.
    Usage = 2,
    /// A state without a next event where the protocol should continue.
    Deadlock = 11,
    /// An `always` property is violated; a history, a log or a new component is refused.
    Safety = 12,
    /// An `eventually` property is violated.
    Liveness = 13,
    /// The plugin traps, diverges, exceeds a limit or is not deterministic.
    GuestFault = 14,
    /// A `sometimes` property holds in no state, and everything was explored.
    NeverReached = 15,
    /// A property cannot be evaluated.
    Evaluation = 75,
    /// Stopped before there was a result, or by a signal before anything was found.
    Stopped = 130,
    /// The plugin cannot be loaded or built, or requires features that no plugin has.
    Plugin = 150,
    /// Options, scenario, prefix or trace do not fit.
    Configuration = 151,
    /// The search is incomplete and `--require-complete` was given.
    TooLarge = 152,
    /// This machine or its files got in the way.
    System = 153,
}

/// Every exit code with its meaning, for `--help` and the documentation.
pub const TABLE: &[(Exit, &str)] = &[
    (Exit::Ok, "no violation (also if a property is undecided, see --require-complete)"),
    (Exit::Unexpected, "a scenario or test failed, or --why-different found states that look the same"),
    (Exit::Usage, "the command line is not understood"),
    (Exit::Deadlock, "no event is possible, and a node is not done (checked with --deadlock)"),
    (Exit::Safety, "an `always` property is violated; a history, a log or a new component is refused"),
    (Exit::Liveness, "an `eventually` property is violated"),
    (Exit::GuestFault, "the plugin traps, diverges, exceeds a limit or is not deterministic"),
    (Exit::NeverReached, "the search is complete, and a `sometimes` property holds in no state"),
    (Exit::Evaluation, "a property cannot be evaluated"),
    (Exit::Stopped, "stopped by a signal before a finding, or by --time or --memory before a result"),
    (Exit::Plugin, "the plugin cannot be loaded or built, or asks for a thread, a socket or the like"),
    (Exit::Configuration, "an option, the scenario, the prefix or the trace does not fit"),
    (Exit::TooLarge, "the search is incomplete and --require-complete was given"),
    (Exit::System, "an error of this machine or its files"),
];

impl Exit {
    /// The exit code with this number.
    pub fn of_code(code: i32) -> Option<Self> {
        TABLE.iter().map(|(exit, _)| *exit).find(|exit| i32::from(exit.code()) == code)
    }

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// The table as lines for `--help`.
pub fn help() -> String {
    let lines = TABLE.iter().map(|(exit, meaning)| format!("  {:>3}  {meaning}\n", exit.code()));
    format!("Exit codes:\n{}", lines.collect::<String>())
}

//! Failures: reasons why a request cannot be met.

use std::fmt::Display;

use host_model::contract::{MachineError, Stopped};

use crate::base::exit::Exit;

/// One sentence that names the thing and the cause, a remedy where there is one, and the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code of the command.
    pub exit: Exit,
    /// A lower-case sentence without a full stop.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// The option that it is about, without hyphens, and its key: `depth`, `set bug`, `link 0>1`.
    pub about: Option<String>,
    /// The reason why a guest was stopped, if that is the whole failure: a search then has its result so far.
    pub stopped: Option<Stopped>,
}

impl Failure {
    /// A failure with this exit code.
    pub fn new(exit: Exit, message: impl Display) -> Self {
        Self { exit, message: message.to_string(), help: None, about: None, stopped: None }
    }

    /// The plugin cannot be loaded or built.
    pub fn plugin(message: impl Display) -> Self {
        Self::new(Exit::Plugin, message)
    }

    /// A request that does not fit.
    pub fn configuration(message: impl Display) -> Self {
        Self::new(Exit::Configuration, message)
    }

    /// This machine or its files got in the way.
    pub fn system(message: impl Display) -> Self {
        Self::new(Exit::System, message)
    }

    /// A request to stop came before a result.
    pub fn stopped(why: impl Display) -> Self {
        Self::new(Exit::Stopped, format_args!("stopped before there was a result: {why}"))
    }

    /// Adds the option that it is about.
    #[must_use]
    pub fn about(mut self, option: impl Display) -> Self {
        self.about = Some(option.to_string());
        self
    }

    /// Adds the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Display) -> Self {
        self.help = Some(help.to_string());
        self
    }
}

impl From<MachineError> for Failure {
    fn from(error: MachineError) -> Self {
        match error {
            MachineError::Host(error) => Self::system(error),
            MachineError::Stopped(why) => Self { stopped: Some(why), ..Self::stopped(why) },
        }
    }
}

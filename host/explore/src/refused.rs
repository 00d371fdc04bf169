//! Why a request is refused.

use std::fmt::Display;

use host_inspect::debug::CursorError;
use host_inspect::page::shapes::Refusal;
use host_inspect::words;
use host_model::contract::MachineError;
use host_session::base::Failure;

/// A request that is refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The status of HTTP.
    pub status: u16,
    /// The reason.
    pub refusal: Refusal,
}

/// The answer to a request: JSON.
pub type Answer = Result<String, Refused>;

impl Refused {
    fn new(status: u16, why: impl Display) -> Self {
        Self { status, refusal: Refusal { error: words::shortened(words::on_one_line(&why.to_string())), help: None } }
    }

    /// The request makes no sense.
    pub fn wrong(why: impl Display) -> Self {
        Self::new(400, why)
    }

    /// The request is not from the page.
    pub fn forbidden(why: impl Display) -> Self {
        Self::new(403, why)
    }

    /// The request names something that does not exist.
    pub fn missing(why: impl Display) -> Self {
        Self::new(404, why)
    }

    /// The request makes sense, but cannot be done here.
    pub fn conflict(why: impl Display) -> Self {
        Self::new(409, why)
    }

    /// The same with a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Display) -> Self {
        self.refusal.help = Some(words::on_one_line(&help.to_string()));
        self
    }
}

impl From<MachineError> for Refused {
    fn from(error: MachineError) -> Self {
        Self::conflict(error)
    }
}

impl From<CursorError> for Refused {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Crowded(_) => Self::conflict(error).help("save what matters and begin another session"),
            error => Self::conflict(error),
        }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        let refused = Self::conflict(failure.message);
        match failure.help {
            Some(help) => refused.help(help),
            None => refused,
        }
    }
}

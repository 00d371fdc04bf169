//! The words of a request, and the job that is made of them.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use crate::engine::Engine;
use crate::refused::{Answer, Refused};

/// The work of the engine for a request.
pub type Job = Box<dyn for<'l> FnOnce(&mut Engine<'l>) -> Answer + Send>;

/// The words of a request.
pub struct Words<'r> {
    /// The method of HTTP.
    pub method: &'r str,
    /// The path behind the token.
    pub path: &'r str,
    /// The parameters behind the path.
    pub query: BTreeMap<String, String>,
    /// The body.
    pub body: &'r [u8],
}

/// A number.
///
/// # Errors
///
/// The text is none.
pub fn number<T: FromStr>(text: &str, what: &str) -> Result<T, Refused> {
    text.parse().map_err(|_| Refused::wrong(format_args!("{what} is a number, not `{text}`")))
}

impl Words<'_> {
    /// The value of a parameter.
    ///
    /// # Errors
    ///
    /// It is missing, or no number.
    pub fn number<T: FromStr>(&self, name: &str) -> Result<T, Refused> {
        let text =
            self.query.get(name).ok_or_else(|| Refused::wrong(format_args!("the parameter `{name}` is missing")))?;
        number(text, &format!("`{name}`"))
    }

    /// The same with a default.
    ///
    /// # Errors
    ///
    /// It is no number.
    pub fn number_or(&self, name: &str, default: usize) -> Result<usize, Refused> {
        if self.query.contains_key(name) { self.number(name) } else { Ok(default) }
    }

    /// The body.
    ///
    /// # Errors
    ///
    /// It is no object of JSON with these fields.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        serde_json::from_slice(self.body)
            .map_err(|error| Refused::wrong(format_args!("the body is not as expected: {error}")))
    }
}

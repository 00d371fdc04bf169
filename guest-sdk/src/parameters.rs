//! The configuration of a protocol: declared, parsed and listed by the same lines of code.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use crate::Protocol;

/// One key of the configuration, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The key.
    pub name: Cow<'static, str>,
    /// The value if the configuration omits the key.
    pub default_value: String,
    /// Its effect, with its possible values if they are few.
    pub meaning: String,
}

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// A line is not `key=value`.
    #[error("configuration line {line:?} is not key=value")]
    Malformed {
        /// The line.
        line: String,
    },
    /// A key occurs twice.
    #[error("parameter {key} is given twice")]
    Twice {
        /// The key.
        key: String,
    },
    /// The protocol has no such parameter.
    #[error("there is no parameter {key}; known are: {known}")]
    Unknown {
        /// The key.
        key: String,
        /// The existing parameters, separated by commas.
        known: String,
    },
    /// The parameter cannot have this value.
    #[error("parameter {key} cannot be {value:?}: {reason}")]
    Value {
        /// The key.
        key: String,
        /// The value that was given.
        value: String,
        /// The mistake, or a correct value.
        reason: String,
    },
    /// The protocol does not support this number of nodes.
    #[error("a cluster of {nodes} does not fit: {reason}")]
    Nodes {
        /// The number of nodes.
        nodes: u32,
        /// A correct value.
        reason: String,
    },
}

/// The given configuration, and the parameters that the protocol has asked for.
///
/// ```
/// # use guest_sdk::{ParameterError, Parameters};
/// #[derive(Clone, Copy)]
/// enum Mode { Fast, Safe }
///
/// fn configure(parameters: &mut Parameters) -> Result<(u32, Mode), ParameterError> {
///     let retries = parameters.get("retries", 3, "how often a request is sent again")?;
///     let mode = parameters.choice("mode", &[("safe", Mode::Safe), ("fast", Mode::Fast)], "what to prefer")?;
///     Ok((retries, mode))
/// }
/// ```
pub struct Parameters<'a> {
    nodes: u32,
    given: BTreeMap<&'a str, &'a str>,
    asked: Vec<Parameter>,
    /// The prefix of parameter names in the part of the protocol that is being configured.
    beginning: String,
}

impl<'a> Parameters<'a> {
    /// Number of nodes in the cluster.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The value of a parameter, or its default.
    ///
    /// # Errors
    ///
    /// The value given cannot be parsed.
    pub fn get<T>(&mut self, name: &'static str, default: T, meaning: &str) -> Result<T, ParameterError>
    where
        T: FromStr<Err: Display> + Display,
    {
        let value = match self.given(name) {
            None => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|error: T::Err| self.reject(name, error)),
        };
        self.ask(name, default.to_string(), meaning);
        Ok(value?.unwrap_or(default))
    }

    /// The value of a parameter, or none if it is the word for "no value", which is the default.
    ///
    /// # Errors
    ///
    /// The value given is not the word and cannot be parsed.
    pub fn get_unless<T>(
        &mut self,
        name: &'static str,
        word: &'static str,
        meaning: &str,
    ) -> Result<Option<T>, ParameterError>
    where
        T: FromStr<Err: Display>,
    {
        let value = match self.given(name) {
            None => Ok(None),
            Some(text) if text == word => Ok(None),
            Some(text) => text.parse().map(Some).map_err(|error: T::Err| self.reject(name, error)),
        };
        self.ask(name, word.to_owned(), meaning);
        value
    }

    /// The value of a parameter that is one of a few words; the first is the default.
    ///
    /// # Errors
    ///
    /// The given value is none of the words.
    ///
    /// # Panics
    ///
    /// There are no words.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        words: &[(&str, T)],
        meaning: &str,
    ) -> Result<T, ParameterError> {
        let (default_word, default) = words.first().expect("a parameter takes at least one value");
        let list = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        let value = match self.given(name) {
            None => Ok(*default),
            Some(text) => match words.iter().find(|(word, _)| *word == text) {
                Some((_, value)) => Ok(*value),
                None => Err(self.reject(name, format_args!("it is one of {list}"))),
            },
        };
        self.ask(name, (*default_word).to_owned(), &format!("{meaning} (one of {list})"));
        value
    }

    /// An error for a parameter whose value is well-formed but does not fit, such as more proposers than nodes.
    pub fn reject(&self, name: &str, reason: impl Display) -> ParameterError {
        let value = self.given(name).unwrap_or("left out").to_owned();
        ParameterError::Value { key: format!("{}{name}", self.beginning), value, reason: reason.to_string() }
    }

    /// An error for a number of nodes that the protocol does not support.
    pub fn reject_nodes(&self, reason: impl Display) -> ParameterError {
        ParameterError::Nodes { nodes: self.nodes, reason: reason.to_string() }
    }

    /// Reads the parameters of a part of the protocol, such as the transport below it. In the configuration, their names have the prefix
    /// of the part's name and a hyphen.
    ///
    /// # Errors
    ///
    /// Those of `configure`.
    pub fn part<T>(
        &mut self,
        name: &str,
        configure: impl FnOnce(&mut Self) -> Result<T, ParameterError>,
    ) -> Result<T, ParameterError> {
        let length = self.beginning.len();
        self.beginning.push_str(&format!("{name}-"));
        let result = configure(self);
        self.beginning.truncate(length);
        result
    }

    /// A given parameter of a part of the protocol, if there is one.
    pub(crate) fn given_to(&self, part: &str) -> Option<&'a str> {
        let beginning = format!("{}{part}-", self.beginning);
        self.given.keys().copied().find(|key| key.starts_with(&beginning))
    }

    /// The given value.
    fn given(&self, name: &str) -> Option<&'a str> {
        match self.beginning.as_str() {
            "" => self.given.get(name).copied(),
            beginning => self.given.get(format!("{beginning}{name}").as_str()).copied(),
        }
    }

    /// Notes a parameter for the list of parameters.
    fn ask(&mut self, name: &'static str, default_value: String, meaning: &str) {
        let name = match self.beginning.as_str() {
            "" => Cow::Borrowed(name),
            beginning => Cow::Owned(format!("{beginning}{name}")),
        };
        self.asked.push(Parameter { name, default_value, meaning: meaning.to_owned() });
    }

    /// Reads one `key=value` per line.
    pub(crate) fn parse(config: &'a str, nodes: u32) -> Result<Self, ParameterError> {
        let mut given = BTreeMap::new();
        for line in config.lines() {
            let Some((key, value)) = line.split_once('=') else {
                return Err(ParameterError::Malformed { line: line.to_owned() });
            };
            if given.insert(key, value).is_some() {
                return Err(ParameterError::Twice { key: key.to_owned() });
            }
        }
        Ok(Self { nodes, given, asked: Vec::new(), beginning: String::new() })
    }

    /// Ends the configuration: a key that the protocol has not asked for is unknown.
    pub(crate) fn finish(self) -> Result<(), ParameterError> {
        match self.given.keys().find(|key| self.asked.iter().all(|parameter| parameter.name != **key)) {
            None => Ok(()),
            Some(key) => {
                let mut known = self.asked.iter().map(|parameter| &*parameter.name).collect::<Vec<_>>().join(", ");
                if known.is_empty() {
                    known.push_str("none");
                }
                Err(ParameterError::Unknown { key: (*key).to_owned(), known })
            }
        }
    }

    /// The parameters of a protocol: it configures itself with an empty configuration.
    ///
    /// # Panics
    ///
    /// The protocol rejects its own defaults.
    pub fn of<P: Protocol>() -> Vec<Parameter> {
        let mut parameters =
            Parameters { nodes: P::ABOUT.nodes, given: BTreeMap::new(), asked: Vec::new(), beginning: String::new() };
        if let Err(error) = P::configure(&mut parameters) {
            panic!("the defaults of {} are refused: {error}", P::ABOUT.name);
        }
        parameters.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(config: &str) -> Result<(u32, bool), ParameterError> {
        let mut parameters = Parameters::parse(config, 3)?;
        let retries = parameters.get("retries", 3, "how often")?;
        let safe = parameters.choice("mode", &[("safe", true), ("fast", false)], "what to prefer")?;
        assert_eq!(parameters.asked[1].meaning, "what to prefer (one of safe, fast)");
        parameters.finish()?;
        Ok((retries, safe))
    }

    #[test]
    fn values_override_defaults() {
        assert_eq!(read(""), Ok((3, true)));
        assert_eq!(read("retries=5"), Ok((5, true)));
        assert_eq!(read("mode=fast\nretries=0"), Ok((0, false)));
    }

    #[test]
    fn a_word_stands_for_no_value() {
        let read = |config| Parameters::parse(config, 3)?.get_unless::<u32>("limit", "auto", "how many");
        assert_eq!((read(""), read("limit=auto"), read("limit=4")), (Ok(None), Ok(None), Ok(Some(4))));
        let message = read("limit=all").unwrap_err().to_string();
        assert_eq!(message, r#"parameter limit cannot be "all": invalid digit found in string"#);
    }

    #[test]
    fn names_of_parts_begin_with_the_part() {
        let read = |config| {
            let mut parameters = Parameters::parse(config, 3)?;
            let of_part = |parameters: &mut Parameters<'_>| match parameters.get("retries", 3, "how often")? {
                0 => Err(parameters.reject("retries", "it is at least one")),
                retries => Ok(retries),
            };
            let inner = parameters.part("net", |parameters| parameters.part("low", of_part))?;
            let own = parameters.get("retries", 1, "how often")?;
            let names: Vec<_> = parameters.asked.iter().map(|parameter| parameter.name.to_string()).collect();
            assert_eq!(names, ["net-low-retries", "retries"]);
            let given = parameters.given_to("net").map(str::to_owned);
            parameters.finish()?;
            Ok::<_, ParameterError>((inner, own, given))
        };
        assert_eq!(read("retries=7"), Ok((3, 7, None)));
        assert_eq!(read("net-low-retries=5"), Ok((5, 1, Some("net-low-retries".to_owned()))));
        let message = read("net-low-retries=0").unwrap_err().to_string();
        assert_eq!(message, r#"parameter net-low-retries cannot be "0": it is at least one"#);
        let message = read("low-retries=0").unwrap_err().to_string();
        assert_eq!(message, "there is no parameter low-retries; known are: net-low-retries, retries");
    }

    #[test]
    fn errors_name_the_key_and_the_remedy() {
        let message = |config| read(config).unwrap_err().to_string();
        assert_eq!(message("retries"), r#"configuration line "retries" is not key=value"#);
        assert_eq!(message("mode=safe\nmode=safe"), "parameter mode is given twice");
        assert_eq!(message("retrys=1"), "there is no parameter retrys; known are: retries, mode");
        assert_eq!(message("retries=x"), r#"parameter retries cannot be "x": invalid digit found in string"#);
        assert_eq!(message("mode=slow"), r#"parameter mode cannot be "slow": it is one of safe, fast"#);
    }
}

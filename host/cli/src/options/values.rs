//! Values of options, and the options that several commands have.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use host_model::audit::Mode;
use host_model::scenario::Network;
use host_search::strategy::{self, STRATEGIES, Strategy};

/// Nodes of a cluster at most. A replay runs an instance for each node, and each reserves address space.
pub const NODES_MAX: u32 = 1024;

/// How a plugin is found and loaded.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct SourceArguments {
    /// Install no toolchain when a folder has to be built; say what is missing instead
    #[arg(long)]
    pub no_install: bool,
    /// Keep standard error for errors: neither steps of the build nor progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Take components as they were built: the user has not named what would be built
    #[arg(skip)]
    pub finished: bool,
    /// Another component of the same command: what concerns all of them was said with the first
    #[arg(skip)]
    pub is_further: bool,
}

/// Names of strategies.
pub fn strategies() -> impl TypedValueParser<Value = &'static Strategy> {
    let value = |strategy: &Strategy| {
        PossibleValue::new(strategy.name).aliases(strategy.aliases.iter().copied()).help(strategy.summary)
    };
    PossibleValuesParser::new(STRATEGIES.iter().map(value))
        .map(|name| strategy::find(&name).expect("only names of strategies are possible values"))
}

/// Modes of the audit.
pub fn audits() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["off", "sampled", "full"]).map(|mode| match &*mode {
        "off" => Mode::Off,
        "full" => Mode::Full,
        _ => Mode::Sampled,
    })
}

/// Names of networks.
pub fn networks() -> impl TypedValueParser<Value = Network> {
    let help = |network: Network| match network {
        Network::Unordered => "any message in flight can come next, or never",
        Network::UnorderedDuplicating => "as unordered, and a message can be delivered more than once",
        Network::Ordered => "first in, first out for each sender and destination; connections can break",
    };
    let values = Network::ALL.map(|network| PossibleValue::new(network.name()).help(help(network)));
    PossibleValuesParser::new(values).map(|name| {
        let network = Network::ALL.into_iter().find(|network| network.name() == name);
        network.expect("only names of networks are possible values")
    })
}

/// `key=value` into its parts.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !text.contains(['\n', '\r']) => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE on one line, such as proposers=2".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_has_a_key() {
        assert_eq!(assignment("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert_eq!(assignment("a="), Ok(("a".to_owned(), String::new())));
        for wrong in ["a", "=a", "a=b\nc=d"] {
            assert!(assignment(wrong).is_err(), "{wrong:?}");
        }
    }
}
